/** What went wrong with an agent's service, in one sentence that names neither its address nor its secret. */
export class AgentServiceError extends Error {
  override readonly name = 'AgentServiceError'
}

/** A service answered a task with more than any agent may. */
export class ServiceOutputTooLargeError extends AgentServiceError {}

export function stopped(): AgentServiceError {
  return new AgentServiceError('The run was stopped.')
}

export function seconds(ms: number): string {
  return ms === 1000 ? '1 second' : `${ms / 1000} seconds`
}

export function megabytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MB`
}

/** The code of one of Node's errors, for telling them apart and for the operator's log. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'UNKNOWN'
}
