// The page's own script. Chats with Errand directly, with a token from the product's server. In a project with a
// bundler, use `createClient({ baseUrl: errandUrl, apiKey: token })` of errand-client, and its `chat.stream`.

const messages = document.querySelector('#messages')
const notice = document.querySelector('#notice')
const input = document.querySelector('#message')

let handed
try {
  handed = await askToken()
  const shown = await call('GET', (sessionId) => `/api/sessions/${sessionId}/messages`)
  const { message, messages: earlier } = await shown.json()
  if (shown.ok) for (const { content, role } of earlier) show(role).textContent = content
  else notice.textContent = message
} catch (error) {
  notice.textContent = error.message
}

document.querySelector('#chat').addEventListener('submit', (event) => {
  event.preventDefault()
  void sendMessage()
})

async function sendMessage() {
  const message = input.value
  input.value = ''
  notice.textContent = ''
  show('user').textContent = message
  try {
    const response = await call(
      'POST',
      () => '/api/chat',
      (sessionId) => ({ sessionId, message }),
    )
    if (response.ok) await showReply(response)
    else notice.textContent = (await response.json()).message
  } catch {
    notice.textContent = 'Could not reach the assistant. Try again.'
    if (input.value === '') input.value = message
  }
}

async function askToken() {
  const response = await fetch('/token', { method: 'POST' })
  const body = await response.json()
  if (!response.ok) throw new Error(body.message)
  return body
}

/**
 * Sends a request. If the token has expired (401), or the session has expired or been deleted (410, 404), replaces both
 * and retries once.
 */
async function call(method, pathOf, bodyOf) {
  const response = handed && (await send(method, pathOf, bodyOf))
  if (response && ![401, 404, 410].includes(response.status)) return response
  handed = await askToken()
  return await send(method, pathOf, bodyOf)
}

function send(method, pathOf, bodyOf) {
  const { errandUrl, sessionId, token } = handed
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' }
  if (bodyOf) headers['Content-Type'] = 'application/json'
  const body = bodyOf && JSON.stringify(bodyOf(sessionId))
  return fetch(errandUrl + pathOf(sessionId), { method, headers, ...(body && { body }) })
}

/** The reply is JSON lines. A line may arrive in several chunks. */
async function showReply(response) {
  const reply = show('assistant')
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (rest + read.value).split('\n')
    rest = lines.pop()
    for (const line of lines.filter((text) => text !== '')) {
      const event = JSON.parse(line)
      if (event.type === 'assistant_delta') reply.textContent += event.delta
      if (event.type === 'done') reply.dataset.costUsd = event.costUsd
      if (event.type === 'error') notice.textContent = event.error.message
    }
  }
}

function show(role) {
  const paragraph = messages.appendChild(document.createElement('p'))
  paragraph.className = role
  return paragraph
}
