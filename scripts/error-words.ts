import type { taskFailureCodes } from '../server/store/tasks/task-types.ts'
import type { ClientOnlyCode } from '../client/client-error.ts'
import type { TurnEndCode } from '../server/chat/turn-ends.ts'
import type { ErrorCode } from '../server/kernel/errors.ts'

// Wording of docs/reference/errors.md by code. If a code is missing here, compilation fails.

type Words = { cause: string; remedy: string }

export const errorWords: Record<ErrorCode, Words> = {
  BAD_REQUEST: {
    cause: 'The body, a parameter or a header is missing, malformed or does not match the schema.',
    remedy: 'Fix the fields that `details` names by `path`. An unchanged request fails again.',
  },
  UNAUTHORIZED: {
    cause: 'The API key or browser login is missing, unknown, revoked or expired, or the password is wrong.',
    remedy: 'Send `Authorization: Bearer <API key>`, or log in again. Replace a revoked or expired key.',
  },
  FORBIDDEN: {
    cause:
      'The caller lacks permission. The key lacks the scope in the message, or the operation requires an admin or a browser login. Or the request came from a page of another origin, or the account is suspended.',
    remedy: 'Use a key with that scope, or another login. If the account is suspended, contact an admin.',
  },
  ACCOUNT_BLOCKED: {
    cause:
      'The account cannot create tasks for now, because too many of its tasks failed. Or it cannot create tasks with `connectorIds` for a day, because a task failed after a connector call. Or it cannot run turns today, because its write-offs exceed `maxWrittenOffUsdPerDay`.',
    remedy:
      'Wait for `Retry-After`, or omit `connectorIds` if the message says so. `GET /api/account` shows when a block of tasks ends. `errand users unblock` ends it early. Turns are allowed again on the next UTC day.',
  },
  INSUFFICIENT_BALANCE: {
    cause:
      'The available balance is lower than the cost, or the account owes money after a refund or dispute. The message states the amounts.',
    remedy:
      'If there is a `Retry-After`, other turns hold the balance: retry when they have ended. Otherwise add credit, or lower `maxTokens`.',
  },
  BUDGET_REACHED: {
    cause:
      'The task costs more than its cap (`maxCostUsd`). Or the cap of the turn or session does not cover the first words of a reply.',
    remedy: 'Raise or omit `maxCostUsd`. For a session, change it with `PATCH /api/sessions/{sessionId}`.',
  },
  LIMIT_REACHED: {
    cause:
      "The request exceeds a limit: the spending limit of the API key or plan, the client token's cap, or the platform key's credit limit. Or the account has reached its daily limit of stored payload bytes (`payloadBytesPerDay`). The message states the limit, its usage and its reset time.",
    remedy:
      "Wait for `Retry-After`, or raise the limit. `PATCH /api/keys/{keyId}` raises a key's limit; an admin raises an account's. `GET /api/account` shows the usage.",
  },
  NOT_FOUND: {
    cause: 'The path does not exist, or the caller has no resource with this id.',
    remedy: 'Check the path and the id. Resources of other accounts and hidden agents return this code too.',
  },
  CONNECTOR_NOT_FOUND: {
    cause: 'A connector of the request or session does not exist or belongs to another account.',
    remedy: 'Take the ids from `GET /api/connectors`.',
  },
  METHOD_NOT_ALLOWED: { cause: 'The path does not support this method.', remedy: 'Use one of the methods in `Allow`.' },
  REQUEST_TIMEOUT: {
    cause: 'The request did not arrive completely in time.',
    remedy: 'Resend the request over a new connection.',
  },
  CONFLICT: {
    cause:
      'The request conflicts with the current state, as the message explains. Examples are a reused `Idempotency-Key`, a taken name, a used or expired quote, and an account at its maximum. Others are a task that can no longer be canceled, and a concurrent change.',
    remedy:
      'Follow the message. Use another key, name or quote, delete an item first, or read the current state and retry.',
  },
  SESSION_BUSY: {
    cause: 'Another reply in this session is in progress.',
    remedy: "Wait for that reply's `done` or `error` event, then resend the message.",
  },
  SESSION_COMPLETED: { cause: 'The session is completed.', remedy: 'Create a new session.' },
  SESSION_EXPIRED: {
    cause: 'The session had no turn and no update for 24 hours (`sessionIdleSeconds`).',
    remedy: 'Create a new session.',
  },
  EVENTS_EXPIRED: {
    cause:
      "The requested stream events are no longer stored. The service keeps at most 8 MB per reply, until ten minutes after the reply's end.",
    remedy:
      'Read the reply from `GET /api/sessions/{sessionId}/messages` and the charge from `GET /api/transactions?turnId=`.',
  },
  PAYLOAD_TOO_LARGE: {
    cause: "The body is larger than `maxBodyBytes` or has too many values, or a batch's responses are too large.",
    remedy: 'Send smaller requests. Send large data as one string.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: 'The body is compressed, or is not `application/json` in UTF-8.',
    remedy: 'Send plain JSON with `Content-Type: application/json`.',
  },
  EXPECTATION_FAILED: {
    cause: 'The `Expect` header is not `100-continue`.',
    remedy: 'Omit the header.',
  },
  CONNECTOR_FAILED: {
    cause:
      "A connector's server is unreachable or unusable, or the connector needs a sign-in. The message gives the reason.",
    remedy:
      'Fix the connector and test it with `POST /api/connectors/{connectorId}/test`. To sign in, use `POST /api/connectors/{connectorId}/sign-in`.',
  },
  RATE_LIMIT_EXCEEDED: {
    cause: 'The account exceeded a limit on executions, writes, connector checks and calls, or webhook tests.',
    remedy: 'Wait for `Retry-After`. For executions, `X-RateLimit-Reset` is the time of the next allowed one.',
  },
  LOGIN_THROTTLED: {
    cause:
      'There were too many password attempts or requests for a password link, for this email address or from this client.',
    remedy: 'Wait for `Retry-After`.',
  },
  HEADERS_TOO_LARGE: { cause: 'The request headers are too large.', remedy: 'Send fewer or shorter headers.' },
  INTERNAL_ERROR: {
    cause: 'The service failed. The log of the service has the cause under the request id.',
    remedy: 'Report `X-Request-Id` to the operator of the service.',
  },
  SERVICE_UNAVAILABLE: {
    cause:
      'The service is overloaded or stopping, its task queue is full, or its database or payload store is unavailable. The request had no effect, unless the message asks you to retry with the same `Idempotency-Key`. In that case the request may have taken effect.',
    remedy: 'Wait for `Retry-After`, then retry with the same `Idempotency-Key`.',
  },
}

export const taskFailureWords: Record<(typeof taskFailureCodes)[number], Words> = {
  AGENT_ERROR: {
    cause:
      "The agent threw an error, ended its thread or returned a failure. `message` is the agent's error message. `details` is `UnknownToolError` if it called a tool outside the task's connectors.",
    remedy: 'Read the message. Fix the params, or report the error to the author of the agent.',
  },
  AGENT_TIMEOUT: {
    cause: 'The run took longer than its timeout (`timeoutSeconds`).',
    remedy: "Send less work per task, or ask the operator to raise the endpoint's `timeoutSeconds`.",
  },
  AGENT_UNAVAILABLE: {
    cause: 'The operator removed the endpoint from the configuration before the task started.',
    remedy: 'Use an endpoint that `GET /api/agents` lists.',
  },
  AGENT_OUTPUT_INVALID: {
    cause:
      'The agent returned a value that JSON cannot represent, or that does not match the `output` schema of the endpoint.',
    remedy: 'Report the error to the author of the agent.',
  },
  AGENT_OUTPUT_TOO_LARGE: {
    cause: 'The result is larger than `maxResultBytes`.',
    remedy: 'Request a smaller result, or ask the operator to raise `maxResultBytes`.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The service stopped or crashed during the run, and the endpoint had no `retries` left. Or the service could not read the stored request.',
    remedy: 'Create the task again. An interruption does not count toward the block.',
  },
  CANCELED: {
    cause: 'The user canceled the task. A running task that is canceled counts toward the block.',
    remedy: 'None. The price was refunded.',
  },
  EXPIRED: {
    cause: 'The task did not start within its `expiresInSeconds`.',
    remedy: 'Create the task again with a longer `expiresInSeconds`. The price was refunded.',
  },
  CONNECTORS_BLOCKED: {
    cause: 'While this task was queued, another task of the account failed after a connector call.',
    remedy: 'Create the task again without connectors, or after the time in `message`. The price was refunded.',
  },
}

export const turnEndWords: Record<TurnEndCode, Words> = {
  AGENT_ERROR: {
    cause: 'The agent or the model failed or rejected the message.',
    remedy: 'Read the message. A shorter conversation or a different message may help.',
  },
  AGENT_TIMEOUT: {
    cause: 'The reply took longer than `turnTimeoutSeconds`.',
    remedy: 'The partial reply is stored. Ask for the rest in the next message.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The client disconnected, the user deleted the session, or the service stopped or crashed. Or the service had no memory for a longer reply.',
    remedy: 'If the error says that nothing was charged, resend the message.',
  },
  INSUFFICIENT_BALANCE: {
    cause: 'The balance does not cover the rest of this reply. The delivered part is charged and stored.',
    remedy: 'Add credit, then continue in the next message.',
  },
  BUDGET_REACHED: {
    cause:
      'The reply reached the cap (`maxCostUsd`) of the turn or its session. The delivered part is charged and stored.',
    remedy: 'Raise the cap, then continue in the next message.',
  },
  LIMIT_REACHED: {
    cause:
      'The reply reached the spending limit of the API key or the plan, or the cap of the client token. The delivered part is charged and stored.',
    remedy: 'Raise the limit or wait until it resets, then continue in the next message.',
  },
  INTERNAL_ERROR: {
    cause: 'The service failed, or could not settle the turn in time.',
    remedy:
      'If the error says that nothing was charged, resend the message. Otherwise, check the transactions of the session.',
  },
}

export const clientOnlyWords: Record<ClientOnlyCode, Words> = {
  INVALID_ARGUMENT: {
    cause: 'An option or argument is invalid. Nothing was sent.',
    remedy: 'Fix the fields in `details`.',
  },
  NETWORK_ERROR: {
    cause: 'The service is unreachable, or the connection was lost before a response.',
    remedy: 'Check the URL. Retry writes with the same idempotency key.',
  },
  TIMEOUT: {
    cause: 'The service did not respond, or the task did not finish, within the allowed time.',
    remedy: 'The task continues; the error has its `taskId`. Allow more time, or wait again.',
  },
  BAD_RESPONSE: {
    cause: "The response is not from the service, for example a proxy's error page. See `status`.",
    remedy: 'Check `baseUrl` and any proxies.',
  },
  INVALID_SIGNATURE: {
    cause: 'A webhook request is not signed with the secret, or is more than five minutes old.',
    remedy:
      'Respond with 400 and do nothing else. Check that the secret belongs to this webhook and that you verify the raw body.',
  },
}
