import { answerJson, type AnswerForm } from '../../http/answer-forms.ts'
import type { ErrandError } from '../../kernel/errors.ts'
import { writeJson } from '../../kernel/json-text.ts'
import { envelope } from '../../procedures/envelope.ts'
import { rpcError } from '../../procedures/procedure.ts'

export const rpcForm: AnswerForm = {
  errorText: (error) => rpcErrorJson(error),
  answer: (routed, result) => answerJson(routed, writeJson({ result: { data: envelope.serialize(result) } })),
  error: (error, { about, operation }) => ({
    // Omit the operation name for batches, and for errors that occur before any call.
    text: rpcErrorJson(error, about.route?.endsWith(operation) ? operation : undefined),
  }),
}

/** `operation` is undefined if the error does not belong to a single call. */
export function rpcErrorJson(error: ErrandError, operation?: string): string {
  return JSON.stringify({ error: envelope.serialize(rpcError(error, operation)) })
}
