/** Returns the path of an agent's page. Optionally selects an endpoint and fills in the params of an earlier task. */
export function agentPath(agentId: string, endpointId?: string, fromTaskId?: string): string {
  const query = new URLSearchParams()
  if (endpointId !== undefined) query.set('endpoint', endpointId)
  if (fromTaskId !== undefined) query.set('from', fromTaskId)
  const text = query.toString()
  return `/agents/${encodeURIComponent(agentId)}${text === '' ? '' : `?${text}`}`
}
