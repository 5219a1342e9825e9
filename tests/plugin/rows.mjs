// Runs the plugin's hooks module outside the client: a case a line in, what the module did a line out.
//
// In: {"event", "input", "answers": text of the server by event, null for none, "surfaces": 0 | 1}
// Out: {"asked": the server's arguments | null, "result", "next": the input that was passed on | null,
//       "compacted": what the module answered to the compaction that it asked for | null}

import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const { register } = await import(pathToFileURL(process.argv[2]).href)
const hooks = {}
register((event, hook) => {
  hooks[event] = { hook }
  return { catch: handler => (hooks[event].caught = handler) }
})

async function run({ event, input, answers, surfaces }) {
  const seen = { asked: null, next: null, compacted: null }
  const next = async e => {
    seen.next = e
    return { passed: true }
  }
  const $ = {
    clock: { after: () => ({ cancel: () => undefined }) },
    mcp: {
      call: async (server, tool, given) => {
        seen.asked = { server, tool, ...given }
        const text = answers[given.event] ?? null
        if (text === null) throw new Error('not connected')
        return { isError: false, content: [{ type: 'text', text }] }
      },
    },
    session: {
      id: async () => 'the-session',
      surfaces: async () => Array(surfaces).fill('terminal'),
      usage: async () => ({ context: { tokens: 150000, window: 200000 } }),
      compact: async () => {
        const input = { trigger: 'plugin', messages: [] }
        seen.compacted = await hooks['session.compact'].hook($, input, async () => ({ passed: true }))
      },
    },
  }
  const { hook, caught } = hooks[event]
  const result = await hook($, input, next).catch(() => caught($, input, next))
  return { ...seen, result }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await run(JSON.parse(line))) + '\n')
}
