import { createRoot, type Root } from 'react-dom/client'
import type { ErrandClient } from '../../client/client.ts'
import {
  AddCredit,
  Balance,
  Chat,
  ErrandProvider,
  Receipt,
  useTask,
  type AddCreditProps,
  type ReceiptProps,
} from '../../client/react/react.ts'

// A page with the React parts. The test answers the calls of their client.

type Call = { name: string; input: unknown }
type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void }

const calls: Call[] = []
const waiting = new Map<string, Waiting>()
const streams = new Map<string, ReadableStreamDefaultController>()

const call = (name: string) => (input?: unknown) => {
  calls.push({ name, input })
  return new Promise((resolve, reject) => waiting.set(name, { resolve, reject }))
}
const open = (name: string) => (input?: unknown) => {
  calls.push({ name, input })
  const stream = new ReadableStream({ start: (controller) => void streams.set(name, controller) })
  return Object.assign(stream, { turnId: 'turn_1' })
}

const client = {
  account: { get: call('account.get') },
  topups: { create: call('topups.create') },
  tasks: { create: call('tasks.create'), cancel: call('tasks.cancel'), events: (id: string) => open(`events ${id}`)() },
  sessions: { messages: open('messages'), get: call('sessions.get') },
  chat: { stream: open('stream'), resumeSession: open('resume'), stop: call('stop') },
} as unknown as ErrandClient

function Task() {
  const { cancel, error, isRunning, progress, run, task, taskId } = useTask()
  return (
    <>
      <button onClick={() => run({ endpointId: 'test.echo', params: {} })}>Run</button>
      <button onClick={cancel}>Cancel</button>
      <output className="task">{JSON.stringify({ taskId, isRunning, progress, task, error: error?.message })}</output>
    </>
  )
}

const parts = {
  money: (props: AddCreditProps & { hasOwnPage?: boolean }) => (
    <AddCredit {...props} onAdd={props.hasOwnPage ? async (amount) => void (await call('onAdd')(amount)) : undefined} />
  ),
  receipt: (props: ReceiptProps) => <Receipt {...props} locale="en-US" />,
  task: () => <Task />,
  chat: (props: { sessionId: string }) => <Chat {...props} locale="en-US" />,
}

let root: Root | undefined

const driver = {
  calls: (name: string) => calls.filter((one) => one.name === name).map(({ input }) => input),
  resolve: (name: string, value: unknown) => waiting.get(name)!.resolve(value),
  reject: (name: string, message: string) => waiting.get(name)!.reject(new Error(message)),
  emit: (name: string, value: unknown) => streams.get(name)!.enqueue(value),
  end: (name: string) => streams.get(name)!.close(),
  fail: (name: string, message: string) => streams.get(name)!.error(new Error(message)),
  mount(part: keyof typeof parts, props: object = {}) {
    root ??= createRoot(document.body)
    root.render(
      <ErrandProvider client={client}>
        <Balance className="mine" locale="en-US" />
        {parts[part](props as never)}
      </ErrandProvider>,
    )
  },
}
export type Driver = typeof driver
Object.assign(globalThis, { driver })
