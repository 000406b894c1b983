const charsMax = 8000

type LoggedLine = { message: string; fields?: Record<string, unknown> }

/** Copies a logged value of any type, because the agent may change it later. */
export function logLine(message: unknown, fields: unknown): LoggedLine {
  const line = { message: String(message).slice(0, charsMax) }
  try {
    const json = JSON.stringify(fields) as string | undefined
    if (json === undefined || json.length > charsMax) return line
    return { ...line, fields: JSON.parse(json) as Record<string, unknown> }
  } catch {
    return { ...line, fields: { fields: 'not serializable as JSON' } }
  }
}
