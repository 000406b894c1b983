// The page's own script: it chats with Errand directly, with a token that the product's server hands it. With a bundler
// this is `createClient({ baseUrl: errandUrl, apiKey: token })` of errand-client, and `chat.stream`.

const messages = document.querySelector('#messages')
const notice = document.querySelector('#notice')
const input = document.querySelector('#message')

let handed = await askToken()
const shown = await call('GET', `/api/sessions/${handed.sessionId}/messages`)
for (const { content, role } of (await shown.json()).messages) show(role).textContent = content

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
    const response = await call('POST', '/api/chat', { sessionId: handed.sessionId, message })
    if (response.ok) await showReply(response)
    else notice.textContent = (await response.json()).message
  } catch {
    notice.textContent = 'The assistant cannot be reached.'
  }
}

async function askToken() {
  const response = await fetch('/token', { method: 'POST' })
  return await response.json()
}

/** A token ends after a while; then another one is asked for, once. */
async function call(method, path, body) {
  const response = await send(method, path, body)
  if (response.status !== 401) return response
  handed = await askToken()
  return await send(method, path, body)
}

function send(method, path, body) {
  const headers = { Authorization: `Bearer ${handed.token}`, Accept: 'application/json' }
  if (body) headers['Content-Type'] = 'application/json'
  return fetch(handed.errandUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
}

/** The reply is lines of JSON, of which one may come in several pieces. */
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
