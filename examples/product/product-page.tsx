import { createClient } from 'errand/client'
import { AddCredit, Balance, Chat, ErrandProvider, Receipt, useBalance, useTask } from 'errand/client/react'
import { useState, type FormEvent } from 'react'
import { createRoot } from 'react-dom/client'

// The product's page. It calls Errand directly, with a token from the product's server.

type Start = { name: string; sessionId: string; token: string }

async function post(path: string, body: object = {}): Promise<Response> {
  return await fetch(path, { method: 'POST', body: JSON.stringify(body) })
}

async function start(): Promise<Start | undefined> {
  const response = await post('/start')
  return response.ok ? ((await response.json()) as Start) : undefined
}

// The client requests another token when its token has expired.
const errand = createClient({ baseUrl: `${location.origin}/errand`, apiKey: async () => (await start())?.token ?? '' })
const first = await start()
createRoot(document.querySelector('#app')!).render(first ? <App {...first} /> : <SignUp />)

function SignUp() {
  const [name, setName] = useState('')
  async function signUp(event: FormEvent): Promise<void> {
    event.preventDefault()
    if ((await post('/sign-up', { name })).ok) location.reload()
  }
  return (
    <form onSubmit={(event) => void signUp(event)}>
      <h1>Agents that work for you</h1>
      <label>
        Your name <input value={name} required maxLength={100} onChange={({ target }) => setName(target.value)} />
      </label>
      <button>Sign up</button>
    </form>
  )
}

function App({ name, sessionId }: Start) {
  return (
    <ErrandProvider client={errand}>
      <h1>Hello, {name}</h1>
      <p>
        Your balance is <Balance />. <Limits />
      </p>
      <AddCredit amounts={['5.00', '25.00']} />
      <h2>Run a task</h2>
      <Task label="Wait 2 seconds" endpointId="demo.wait" params={{ seconds: 2 }} />
      <Task label="Fail and get a refund" endpointId="demo.fail" params={{}} />
      <h2>Chat</h2>
      <Chat sessionId={sessionId} />
    </ErrandProvider>
  )
}

function Limits() {
  const { account } = useBalance()
  const perMinute = account?.rateLimit.limit
  return perMinute ? `Your plan allows ${perMinute} runs per minute.` : null
}

function Task({ endpointId, label, params }: { label: string; endpointId: string; params: Record<string, unknown> }) {
  const { cancel, error, isRunning, run, task } = useTask()
  return (
    <p>
      <button disabled={isRunning} onClick={() => run({ endpointId, params })}>
        {label}
      </button>{' '}
      {isRunning && <button onClick={cancel}>Cancel</button>}
      <output>
        {task?.status === 'completed' && 'Done. Cost: '}
        {task?.status === 'failed' && `${task.error?.message} Refunded: `}
        {task && <Receipt costUsd={task.status === 'failed' ? task.refundedUsd : task.costUsd} />}
        {error?.message}
      </output>
    </p>
  )
}
