// Palimpsest in opencode: before each request, digests stand in the place of older results, in the list that is sent and
// nowhere else; opencode's own record of the session keeps the originals. It decides nothing: our server does.

import { Server } from './server.js'

const THINKING = ['reasoning']

/** A list of parts with what our server answered put into them; the given objects stay as they are. */
function edited(part, answer) {
  if (part.type !== 'tool' || !part.state) return part
  const state = { ...part.state }
  const text = answer.results[part.callID]
  if (text !== undefined && state.status === 'completed') state.output = text
  if (text !== undefined && state.status === 'error') state.error = text
  if (answer.inputs[part.callID] !== undefined) state.input = answer.inputs[part.callID]
  return { ...part, state }
}

/** The same for the list of the second kind of plugins: calls and results are blocks of messages. */
function editedBlock(part, answer) {
  if (part.type === 'tool-call' && answer.inputs[part.id] !== undefined) return { ...part, input: answer.inputs[part.id] }
  const text = part.type === 'tool-result' ? answer.results[part.id] : undefined
  if (text === undefined) return part
  const { output, ...rest } = part
  return { ...rest, result: { ...part.result, type: part.result?.type === 'error' ? 'error' : 'text', value: text } }
}

/** Change a list of messages in place by an answer. `key` names where a message has its parts. */
function apply(messages, answer, key, edit, idOf) {
  let behind = false
  for (const [at, message] of messages.entries()) {
    if (!Array.isArray(message[key])) continue
    const kept = behind ? message[key].filter(part => !THINKING.includes(part.type)) : message[key]
    behind ||= answer.drop_thinking_after !== '' && message[key].some(part => idOf(part) === answer.drop_thinking_after)
    messages[at] = { ...message, [key]: kept.map(part => edit(part, answer)) }
  }
}

function changes(answer) {
  return answer?.results && (Object.keys(answer.results).length > 0 || Object.keys(answer.inputs).length > 0)
}

/** The first kind of plugin (opencode 1.x). */
async function server(command, { directory }) {
  const our = new Server('opencode', command)
  const about = new Map() // session -> what requests of it told: window, model, system prompt
  return {
    dispose: async () => our.close(),
    // The tools that the model restores and searches with; a user's own entry of that name stays.
    config: async config => {
      const [program, ...more] = command
      config.mcp = { palimpsest: { type: 'local', command: [program, 'serve', ...more], enabled: true }, ...config.mcp }
    },
    'chat.params': async ({ sessionID, model }) => {
      about.set(sessionID, { ...about.get(sessionID), model: model.api?.id ?? model.id, window: model.limit?.context || undefined })
    },
    'experimental.chat.system.transform': async ({ sessionID }, { system }) => {
      if (sessionID) about.set(sessionID, { ...about.get(sessionID), system: system.join('\n') })
    },
    'experimental.chat.messages.transform': async (_, output) => {
      const session_id = output.messages.at(-1)?.info.sessionID
      if (!session_id) return
      const told = about.get(session_id) ?? { model: output.messages.findLast(one => one.info.role === 'user')?.info.model?.modelID }
      const answer = await our.ask('context', { session_id, cwd: directory, ...told, messages: output.messages })
      if (changes(answer)) apply(output.messages, answer, 'parts', edited, part => part.callID)
    },
    'tool.execute.after': async ({ tool, sessionID, callID, args }, output) => {
      if (typeof output?.output !== 'string') return
      const payload = { session_id: sessionID, cwd: directory, tool_name: tool, tool_input: args, call_id: callID, text: output.output }
      const answer = await our.ask('result', payload)
      if (typeof answer?.text === 'string') output.output = answer.text
    },
    'experimental.session.compacting': async ({ sessionID }, output) => {
      const answer = await our.ask('compacting', { session_id: sessionID, cwd: directory, ...about.get(sessionID) })
      if (answer?.instructions) output.context.push(answer.instructions)
    },
    'chat.message': async ({ sessionID, messageID }, output) => {
      const answer = await our.ask('prompt', { session_id: sessionID, cwd: directory })
      const first = output.parts.find(part => part.type === 'text')
      if (answer?.text && first) output.parts.push({ ...first, id: `${first.id}p`, text: answer.text, synthetic: true })
    },
  }
}

/** The second kind (opencode 2): the list of a request is the hook's to change. */
async function setup(command, context) {
  const our = new Server('opencode', command)
  await context.session.hook('context', async event => {
    const payload = { session_id: event.sessionID, model: event.model.id ?? event.model.modelID }
    const system = event.system.map(part => part.text ?? '').join('\n')
    const answer = await our.ask('context', { ...payload, system, messages: event.messages })
    if (changes(answer)) apply(event.messages, answer, 'content', editedBlock, part => part.id)
  })
  await context.session.hook('compaction', async event => {
    const answer = await our.ask('compacting', { session_id: event.sessionID, model: event.model.id ?? event.model.modelID })
    if (answer?.instructions) event.system.push({ type: 'text', text: answer.instructions })
  })
}

/** The plugin, with how palimpsest-mcp is started: `["palimpsest-mcp", "--home", "/folder"]`. */
export function made(command) {
  return { id: 'palimpsest', server: input => server(command, input), setup: context => setup(command, context) }
}

export default made(['palimpsest-mcp'])
