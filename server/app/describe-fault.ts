const causesMax = 5
const codePattern = /^[\w.-]{1,64}$/
/** Error fields with a short code from the operating system, the database, or a single sign-on provider (`error`). */
const codes = ['code', 'error', 'status'] as const

type DescribedFault = { type: string; message: string; stack?: string; cause?: DescribedFault } & {
  [name in (typeof codes)[number]]?: string | number
}

/**
 * Converts a thrown value for the log. Copies only known fields, because libraries attach requests, bodies and headers
 * to errors. Omits the message of a SyntaxError, because it quotes the invalid input.
 */
export function describeFault(thrown: unknown, depth = 0): DescribedFault {
  if (!(thrown instanceof Error))
    return { type: typeof thrown, message: `A value of type ${typeof thrown} was thrown.` }
  const type = String(thrown.name)
  const isQuoting = thrown instanceof SyntaxError
  const message = isQuoting ? 'A value is malformed.' : String(thrown.message)
  const { cause, stack } = thrown
  return {
    type,
    message,
    ...codesOf(thrown),
    ...(typeof stack === 'string' && { stack: isQuoting ? framesOf(stack) : stack }),
    ...(cause !== undefined && depth < causesMax && { cause: describeFault(cause, depth + 1) }),
  }
}

function codesOf(thrown: Error): Partial<DescribedFault> {
  const said = codes.map((name) => [name, Reflect.get(thrown, name) as unknown] as const)
  const isCode = (value: unknown) => typeof value === 'number' || (typeof value === 'string' && codePattern.test(value))
  return Object.fromEntries(said.filter(([, value]) => isCode(value)))
}

function framesOf(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')
}
