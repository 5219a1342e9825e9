// One server process for a host's plugin: JSON lines on its pipe, as MCP has them. Whatever fails or is slow, the caller
// gets undefined and goes on as if we were not there; a server that ended is started again by the next call, and one that is
// slow to start serves the calls after it.

import { spawn } from 'node:child_process'

const LIMIT_MS = 25_000
const AGAIN_MS = 10_000

/** The same promise, rejected after so many milliseconds. */
function within(limit, promise) {
  let late
  const timer = new Promise((_, reject) => {
    late = setTimeout(() => reject(new Error('late')), limit)
  })
  return Promise.race([promise, timer]).finally(() => clearTimeout(late))
}

export class Server {
  /** `command`: how palimpsest-mcp is started, as a list of words. `limit`: milliseconds that a call waits. */
  constructor(host, [program, ...options], limit = LIMIT_MS) {
    this.limit = limit
    this.command = [program, 'serve', ...options, '--host', host]
    this.waiting = new Map()
    this.next = 1
    this.failedAt = 0
  }

  /** What our server answers to an event of the host; undefined when it says nothing in time. */
  async ask(event, payload) {
    const done = await this.tool('host_event', { event, payload })
    try {
      return done === undefined || done.isError ? undefined : JSON.parse(done.content[0].text)
    } catch {
      return undefined
    }
  }

  /** The result of one of our tools, or undefined. */
  tool(name, args) {
    return this.request('tools/call', { name, arguments: args })
  }

  async request(method, params) {
    try {
      const until = Date.now() + this.limit
      await within(this.limit, this.started())
      return await within(until - Date.now(), this.send(method, params))
    } catch {
      return undefined
    }
  }

  started() {
    if (this.ready) return this.ready
    if (Date.now() - this.failedAt < AGAIN_MS) return Promise.reject(new Error('not running'))
    const child = spawn(this.command[0], this.command.slice(1), { stdio: ['pipe', 'pipe', 'ignore'] })
    const gone = () => {
      if (this.child !== child) return
      this.child = this.ready = undefined
      for (const one of this.waiting.values()) one.reject(new Error('gone'))
      this.waiting.clear()
    }
    child.on('error', () => {
      this.failedAt = Date.now()
      gone()
    })
    child.on('exit', gone)
    child.stdin.on('error', gone)
    let rest = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', text => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      for (const line of lines) this.take(line)
    })
    child.unref() // the host may end while we wait for nothing
    for (const pipe of [child.stdin, child.stdout]) pipe.unref?.()
    this.child = child
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: this.command.at(-1), version: '0' } }
    this.ready = this.send('initialize', hello).then(() => this.write({ method: 'notifications/initialized' }))
    this.ready.catch(() => undefined)
    return this.ready
  }

  send(method, params) {
    const id = this.next++
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.write({ id, method, params })
    })
  }

  write(message) {
    this.child?.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
  }

  take(line) {
    try {
      const { id, result, error } = JSON.parse(line)
      this.settle(id, error === undefined ? 'resolve' : 'reject', error ?? result)
    } catch {
      // a line that is no message
    }
  }

  settle(id, how, value) {
    this.waiting.get(id)?.[how](value)
    this.waiting.delete(id)
  }

  close() {
    this.child?.stdin.end()
  }
}
