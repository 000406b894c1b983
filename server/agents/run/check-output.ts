import { issueDetails } from '../../kernel/bad-input.ts'
import type { ParamsSchema } from '../config/define-config.ts'
import { toZodSchema } from '../config/params-schema.ts'
import type { EndpointRun } from './endpoint-run.ts'

/** Thrown if a result does not match its endpoint's `output`. The message names the field. */
export class OutputMismatchError extends Error {}

type Run = (run: EndpointRun) => unknown

/** Wraps the endpoint's `run` so that its result is validated. */
export function withOutput(output: ParamsSchema | undefined, run: Run): Run {
  if (output === undefined) return run
  const schema = toZodSchema(output)
  return async (options) => {
    const result: unknown = await run(options)
    const parsed = await schema.safeParseAsync(result).catch(() => {
      throw new OutputMismatchError(
        "The agent's result could not be checked against its output schema. Report this to the agent's author.",
      )
    })
    if (parsed.success) return parsed.data
    const [{ message, path } = { message: '', path: 'response' }] = issueDetails('response', parsed.error.issues)
    throw new OutputMismatchError(`The agent's result does not match its output schema. ${path}: ${message}`)
  }
}
