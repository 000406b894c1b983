import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { AppRouter } from '../server/rpc/root-router.ts'

export type Inputs = inferRouterInputs<AppRouter>
export type Outputs = inferRouterOutputs<AppRouter>

export type Task = Outputs['tasks']['get']
export type TaskListItem = Outputs['tasks']['list']['tasks'][number]
export type Session = Outputs['sessions']['get']
export type SessionListItem = Outputs['sessions']['list']['sessions'][number]
export type Message = Outputs['sessions']['messages']['messages'][number]
export type Agent = Outputs['agents']['get']
export type Account = Outputs['account']['get']
export type Usage = Outputs['account']['usage']
export type Login = Outputs['logins']['list']['logins'][number]
export type Invitation = Outputs['invitations']['list']['invitations'][number]
export type User = Outputs['users']['get']
export type System = Outputs['system']['get']
export type Transaction = Outputs['transactions']['list']['transactions'][number]
export type Key = Outputs['keys']['list']['keys'][number]
export type CreatedKey = Outputs['keys']['create']
export type Connector = Outputs['connectors']['get']
export type ConnectorTool = Outputs['connectors']['tools']['tools'][number]

/** A task that will not change any more. */
export type EndedTask = Task & { status: 'completed' | 'failed' }

/** A message to a session. */
export type ChatInput = Inputs['chat']['stream']
export type { ChatEvent, ChatUsage } from '../server/chat/chat-schema.ts'
