// The hooks module: hands the conversation to the plugin's own server and builds the rows from its answer. It decides
// nothing. Whatever fails or is slow, the client goes on as if we were not there, with our instructions if we have them.

import type { Register } from 'claude-code'

const SERVER = 'plugin:palimpsest:server'
const LIMIT_MS = 25_000
/** Rows that are built anew hold text only; the server has a digest for every result with an image. This is for none. */
const NOT_TEXT = '[no text here; an image or other attachment of this result was left out by the compaction]'

type Use = { tool_use_id: string; tool: string; input: Record<string, unknown> }
type Result = { tool_use_id: string; text: string; isError: boolean }
type Row = { role: 'user' | 'assistant'; text: string; toolUses: Use[]; toolResults?: Result[]; handle?: string }
type Inputs = Record<string, Record<string, unknown>>
type Denial = { permissionDecision?: string; permissionDecisionReason?: string }
type Answer = {
  apply?: boolean
  results?: Record<string, string>
  inputs?: Inputs
  instructions?: string
  compact?: boolean
  hookSpecificOutput?: Denial
}

/** What our server answers to an event; {} when it says nothing in time, or nothing that can be read. */
async function ask($: any, event: string, payload: Record<string, unknown>): Promise<Answer> {
  let late: { cancel: () => void } | undefined
  const tooLate = new Promise<undefined>(resolve => {
    late = $.clock.after(LIMIT_MS, () => resolve(undefined))
  })
  try {
    const session_id = await $.session.id()
    const call = $.mcp.call(SERVER, 'host_event', { event, payload: { session_id, ...payload } })
    call.catch(() => undefined) // a failure after the limit has nobody left to tell
    const done = await Promise.race([call, tooLate])
    if (done === undefined || done.isError) return {}
    const answer = JSON.parse(done.content[0].text)
    return answer !== null && typeof answer === 'object' ? answer : {}
  } catch {
    return {}
  } finally {
    late?.cancel()
  }
}

/** A row without what the server does not read: arguments of calls and the tools' own records are most of the bytes. */
function slim(row: Row) {
  return {
    role: row.role,
    text: row.text,
    toolUses: row.toolUses.map(use => ({ tool_use_id: use.tool_use_id, tool: use.tool })),
    toolResults: (row.toolResults ?? []).map(({ tool_use_id, text, isError }) => ({ tool_use_id, text, isError })),
  }
}

function holdsResults(row: Row | undefined): boolean {
  return row?.role === 'user' && (row.toolResults?.length ?? 0) > 0
}

// Every assistant row and every row of results is built anew; other rows keep their handle. A kept one would bring the
// old history back at --resume. Rows come one a content block, results maybe between the rows of their answer: an answer
// becomes one row again and its results the row right behind it, else parallel calls lose theirs.
function rebuilt(rows: readonly Row[], digests: Record<string, string>, inputs: Inputs): Row[] {
  const answered = new Set(rows.flatMap(row => (row.toolResults ?? []).map(one => one.tool_use_id)))
  const waiting = new Set<string>() // calls of the answer whose results are still to come
  const out: Row[] = []
  let answer: Row | undefined
  let results: (Row & { toolResults: Result[] }) | undefined
  let before: Row | undefined
  for (const row of rows) {
    if (row.role === 'assistant') {
      if (answer === undefined || (before?.role !== 'assistant' && waiting.size === 0)) {
        answer = { role: 'assistant', text: '', toolUses: [] }
        results = undefined
        out.push(answer)
      }
      answer.text = joined(answer.text, row.text)
      for (const { tool_use_id, tool, input } of row.toolUses) {
        answer.toolUses.push({ tool_use_id, tool, input: inputs[tool_use_id] ?? input })
        if (answered.has(tool_use_id)) waiting.add(tool_use_id)
      }
    } else if (holdsResults(row)) {
      if (results === undefined) {
        results = { role: 'user', text: '', toolUses: [], toolResults: [] }
        out.splice(answer === undefined ? out.length : out.indexOf(answer) + 1, 0, results)
      }
      results.text = joined(results.text, row.text)
      for (const { tool_use_id, text, isError } of row.toolResults ?? []) {
        results.toolResults.push({ tool_use_id, isError, text: digests[tool_use_id] ?? (text || NOT_TEXT) })
        waiting.delete(tool_use_id)
      }
    } else out.push(row)
    before = row
  }
  return out.filter(row => row.handle !== undefined || row.text || row.toolUses.length || row.toolResults?.length)
}

function joined(first: string | undefined, second: string | undefined): string {
  return [first, second].filter(Boolean).join('\n')
}

/** Words of ours that a command would have to hold to write a note or digest into a file. */
const SUSPECT = ["Palimpsest's note", 'restore_batch']

export const register: Register = on => {
  // Here and not in a hook of the settings: that would cost every command 10 ms, and nearly none holds such words.
  on('tool.check', { tool: 'Bash' }, async ($, e, next) => {
    const command = String((e.input as any)?.command ?? '')
    if (!SUSPECT.some(words => command.includes(words))) return next(e)
    const about = { agentId: e.agentId, tool_name: 'Bash', tool_input: { command } }
    const said = (await ask($, 'PreToolUse', about)).hookSpecificOutput
    return said?.permissionDecision === 'deny' ? { decision: 'deny', reason: said.permissionDecisionReason } : next(e)
  }).catch(($, e, next) => next(e))

  let askedByUs = false // for the compaction that is under way

  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return { skip: 'Palimpsest compacts by digests: no summary ahead of time' }
    const rows = e.messages as unknown as Row[]
    const { agentId, trigger, instructions } = e
    const answer = await ask($, 'session.compact', { agentId, trigger, instructions, messages: rows.map(slim) })
    if (answer.apply && answer.results) return { messages: rebuilt(rows, answer.results, answer.inputs ?? {}) as any }
    // At our own threshold nobody asked for the client's summary.
    if (askedByUs) return { skip: 'Palimpsest: nothing was replaced' }
    return next(answer.instructions ? { ...e, instructions: joined(instructions, answer.instructions) } : e)
  }).catch(($, e, next) => next(e))

  on('turn.complete', async ($, e, next) => {
    const done = await next(e)
    // Only an interactive session can be compacted between its turns; a print run draws on no surface.
    if (e.agentId !== undefined || e.reason !== 'answer' || (await $.session.surfaces()).length === 0) return done
    const { context } = await $.session.usage()
    const { compact } = await ask($, 'turn.complete', { tokens: context.tokens, window: context.window })
    if (!compact) return done
    askedByUs = true
    try {
      await $.session.compact()
    } finally {
      askedByUs = false
    }
    return done
  }).catch(($, e, next) => next(e))
}
