// Palimpsest in Pi: before each request, digests stand in the place of older results, in the list that is sent and nowhere
// else; Pi's own session file keeps the originals. It decides nothing: our server does.

import { Server } from './server.js'

const TOOLS = ['restore_batch', 'search_offloaded', 'list_offloaded', 'check_context_ratio']

/** The list with what our server answered put into it; the given objects stay as they are. */
function edited(messages, answer) {
  let behind = false
  return messages.map(message => {
    if (message.role === 'toolResult' && answer.results[message.toolCallId] !== undefined)
      return { ...message, content: [{ type: 'text', text: answer.results[message.toolCallId] }] }
    if (message.role !== 'assistant') return message
    const kept = behind ? message.content.filter(part => part.type !== 'thinking') : message.content
    behind ||= message.content.some(part => part.type === 'toolCall' && part.id === answer.drop_thinking_after)
    return {
      ...message,
      content: kept.map(part =>
        part.type === 'toolCall' && answer.inputs[part.id] !== undefined ? { ...part, arguments: answer.inputs[part.id] } : part,
      ),
    }
  })
}

async function extension(command, pi) {
  const our = new Server('pi', command)
  const about = ctx => ({
    session_id: ctx.sessionManager.getSessionId(),
    cwd: ctx.cwd,
    model: ctx.model?.id,
    window: ctx.model?.contextWindow,
  })

  pi.on('context', async (event, ctx) => {
    const answer = await our.ask('context', { ...about(ctx), system: ctx.getSystemPrompt(), messages: event.messages })
    if (!answer?.results || !(Object.keys(answer.results).length || Object.keys(answer.inputs).length)) return undefined
    return { messages: edited(event.messages, answer) }
  })

  pi.on('tool_result', async (event, ctx) => {
    if (event.isError || event.content.length !== 1 || event.content[0].type !== 'text') return undefined
    const call = { tool_name: event.toolName, tool_input: event.input, call_id: event.toolCallId, text: event.content[0].text }
    const answer = await our.ask('result', { ...about(ctx), ...call })
    return typeof answer?.text === 'string' ? { content: [{ type: 'text', text: answer.text }] } : undefined
  })

  // Pi's own compaction goes on; everything is archived before it, and what its summary lost is said once after it.
  pi.on('session_before_compact', async (event, ctx) => {
    await our.ask('compacting', { ...about(ctx), trigger: event.reason === 'manual' ? 'manual' : 'auto' })
    return undefined
  })
  let summary = ''
  pi.on('session_compact', async event => {
    summary = event.compactionEntry?.summary ?? ''
  })
  pi.on('before_agent_start', async (_, ctx) => {
    const answer = await our.ask('prompt', { ...about(ctx), summary })
    return answer?.text ? { message: { customType: 'palimpsest', content: answer.text, display: true } } : undefined
  })

  const listed = await our.request('tools/list', {})
  for (const { name, description, inputSchema } of listed?.tools ?? []) {
    if (!TOOLS.includes(name)) continue
    pi.registerTool({
      name,
      label: name,
      description: description ?? name,
      parameters: inputSchema,
      async execute(_id, params) {
        const done = await our.tool(name, params)
        if (done === undefined) throw new Error('Palimpsest does not answer; the originals are in its store.')
        return { content: done.content, details: undefined, isError: done.isError === true }
      },
    })
  }
  pi.on('session_shutdown', () => our.close())
}

/** The extension, with how palimpsest-mcp is started: `["palimpsest-mcp", "--home", "/folder"]`. */
export function made(command) {
  return pi => extension(command, pi)
}

export default made(['palimpsest-mcp'])
