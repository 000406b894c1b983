export const bookGroups = ['day', 'agent', 'endpoint', 'model', 'user', 'plan', 'key'] as const
export type BookGroup = (typeof bookGroups)[number]

export const columnOf: Record<BookGroup, string> = {
  day: 'day',
  agent: 'agent_id',
  endpoint: 'endpoint_id',
  model: 'model',
  user: 'user_id',
  plan: 'plan',
  key: 'key_id',
}
