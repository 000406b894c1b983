import { createChatServer } from './chat-server.ts'

const { ERRAND_API_KEY: apiKey, ERRAND_URL: errandUrl = 'http://127.0.0.1:3000', PORT = '4001' } = process.env
if (apiKey === undefined) {
  console.error('ERRAND_API_KEY must be an API key with the scopes read and execute. Create one in the console.')
  process.exit(1)
}
const server = await createChatServer({ errandUrl, apiKey, agentId: 'counter' })
server.listen(Number(PORT), '127.0.0.1', () => console.log(`The chat is at http://127.0.0.1:${PORT}`))
