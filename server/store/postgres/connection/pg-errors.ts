/** Returns the SQLSTATE of an error from the driver or Drizzle, or an empty string if there is none. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    // Every SQLSTATE contains a digit, unlike system error codes such as EPIPE.
    if ('code' in at && typeof at.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(at.code)) return at.code
  }
  return ''
}

/**
 * Whether the connection was lost: SQLSTATE 08 (connection exception), 57P01 to 57P05 (closed by the server), or no
 * answer at all.
 */
export function isLostConnection(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== '') return /^(?:08...|57P0.|25P03)$/.test(code)
  for (let at = error; at instanceof Error; at = at.cause) {
    const system = 'code' in at && typeof at.code === 'string' ? at.code : ''
    if (/^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/.test(system)) return true
    if (
      /^(?:Connection terminated|Client has encountered|Client was closed|Query read timeout|timeout )/.test(at.message)
    )
      return true
  }
  return false
}

/**
 * Whether the server rejected the query: SQLSTATE 25006 (read-only), 53 (insufficient resources), 55P03 (lock timeout),
 * 57014 (canceled) or 58 (system error).
 */
export function isRefusedByServer(error: unknown): boolean {
  return /^(?:25006|53...|55P03|57014|58...)$/.test(codeOf(error))
}
