import type { taskFailureCodes } from '../server/store/tasks/task-types.ts'
import type { ClientOnlyCode } from '../client/client-error.ts'
import type { TurnEndCode } from '../server/chat/turn-ends.ts'
import type { ErrorCode } from '../server/kernel/errors.ts'

// Wording of docs/reference/errors.md by code. A missing code is a compile error.

type Words = { cause: string; remedy: string }

export const errorWords: Record<ErrorCode, Words> = {
  BAD_REQUEST: {
    cause: 'The body, a parameter or a header is missing or malformed, or does not match the schema.',
    remedy: 'Fix the fields in `details`; `path` names each one. Sending the same request again fails in the same way.',
  },
  UNAUTHORIZED: {
    cause:
      'The request has no valid credential: the API key or browser login is missing, unknown, revoked or expired, or the password is wrong.',
    remedy:
      'Send `Authorization: Bearer <API key>`, or log in again. If the key is revoked or expired, create a new one.',
  },
  FORBIDDEN: {
    cause:
      'The caller lacks permission: the key lacks the scope named in the message, the operation requires an admin or a browser login, the request came from a page of another origin, or the account is suspended.',
    remedy: 'Use a key with that scope or another login. If the account is suspended, ask an admin.',
  },
  ACCOUNT_BLOCKED: {
    cause:
      'Too many tasks of the account failed within the window, so it cannot create tasks for now. Or a task failed after it had called a connector, so the account cannot create tasks with `connectorIds` for a day. Or more than `maxWrittenOffUsdPerDay` of the cost of its chats was written off today.',
    remedy:
      'Wait for `Retry-After`, or omit `connectorIds` if the message says so. `GET /api/account` shows when a block of tasks ends, and `errand users unblock` ends it early. Chats are allowed again on the next UTC day.',
  },
  INSUFFICIENT_BALANCE: {
    cause:
      'The available balance is lower than the cost, or the account owes money because a payment was refunded or disputed. The message states the amounts.',
    remedy: 'Add credit, wait until other chats release their holds, or send a smaller `maxTokens`.',
  },
  BUDGET_REACHED: {
    cause:
      'The task costs more than its cap (`maxCostUsd`), or the cap of the chat or its session does not cover the first words of a reply.',
    remedy: 'Raise or omit `maxCostUsd`. For a session, change it with `PATCH /api/sessions/{sessionId}`.',
  },
  LIMIT_REACHED: {
    cause:
      'The request exceeds the spending limit of the API key or the plan, the cap of the client token, the credit limit of the platform key, or the bytes of payloads that an account can store per UTC day (`payloadBytesPerDay`). The message states the limit, the amount used and when the limit resets.',
    remedy:
      'Wait for `Retry-After` or raise the limit: `PATCH /api/keys/{keyId}` for a key; an admin for an account. `GET /api/account` shows the amount used.',
  },
  NOT_FOUND: {
    cause:
      'The path does not exist, or the caller has no such agent, endpoint, task, session, key, connector, login or user.',
    remedy:
      'Check the path and the id. Resources of other accounts, and agents that the caller cannot see, also return this code.',
  },
  CONNECTOR_NOT_FOUND: {
    cause: 'A connector in `connectorIds` or of the session does not belong to the caller.',
    remedy: 'Take the ids from `GET /api/connectors`.',
  },
  METHOD_NOT_ALLOWED: { cause: 'The path does not support this method.', remedy: 'Use one of the methods in `Allow`.' },
  REQUEST_TIMEOUT: { cause: 'The request did not arrive in time.', remedy: 'Send it again over a new connection.' },
  CONFLICT: {
    cause:
      'The request conflicts with the current state: the `Idempotency-Key` was used for another request or for a reply that is no longer stored, the name is taken, the quote is used or expired, the account has the maximum number of such items, the task can no longer be canceled, or another request made a change first.',
    remedy:
      'Follow the message: use another key, name or quote, delete an item first, or read the current state and try again.',
  },
  SESSION_BUSY: {
    cause: 'Another reply of this session is in progress.',
    remedy: 'Wait for the `done` or `error` event of that reply, then send the message again.',
  },
  SESSION_COMPLETED: { cause: 'The session is completed.', remedy: 'Create a new session.' },
  SESSION_EXPIRED: {
    cause: 'The session had no chat and no update for 24 hours (`sessionIdleSeconds`).',
    remedy: 'Create a new session.',
  },
  EVENTS_EXPIRED: {
    cause:
      'The requested events of a reply are no longer stored. They are kept for ten minutes after its end, at most 8 MB per reply.',
    remedy:
      'Read the reply from `GET /api/sessions/{sessionId}/messages` and the charge from `GET /api/transactions?turnId=`.',
  },
  PAYLOAD_TOO_LARGE: {
    cause: 'The body is larger than `maxBodyBytes` or has too many values, or the responses of a batch are too large.',
    remedy: 'Send smaller requests, and large data as one string.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: 'The body is not `application/json` in UTF-8, or is compressed.',
    remedy: 'Send plain JSON with `Content-Type: application/json`.',
  },
  EXPECTATION_FAILED: {
    cause: 'The `Expect` header is not `100-continue`.',
    remedy: 'Omit the header.',
  },
  CONNECTOR_FAILED: {
    cause:
      "The server of one of the caller's connectors is unreachable or unusable, or the connector needs a sign-in. The message says why.",
    remedy:
      'Fix the connector and test it with `POST /api/connectors/{connectorId}/test`, or sign in with `POST /api/connectors/{connectorId}/sign-in`.',
  },
  RATE_LIMIT_EXCEEDED: {
    cause: 'The account exceeded a limit on executions, writes, connector checks, webhook tests or waiting chats.',
    remedy: 'Wait for `Retry-After`. For executions, `X-RateLimit-Reset` says when the next one is allowed.',
  },
  LOGIN_THROTTLED: {
    cause: 'Too many password attempts for this email address or from this client.',
    remedy: 'Wait for `Retry-After`.',
  },
  HEADERS_TOO_LARGE: { cause: 'The request headers are too large.', remedy: 'Send fewer or shorter headers.' },
  INTERNAL_ERROR: {
    cause: 'The service failed. Its log has the cause under the request id.',
    remedy: 'Report `X-Request-Id` to the operator of the service.',
  },
  SERVICE_UNAVAILABLE: {
    cause:
      'The service is overloaded or stopping, too many tasks are queued, or the database or payload store is unavailable. The request had no effect, unless the message asks you to retry with the same `Idempotency-Key`. Then it may have taken effect.',
    remedy: 'Wait for `Retry-After`, then repeat the request with the same `Idempotency-Key`.',
  },
}

export const taskFailureWords: Record<(typeof taskFailureCodes)[number], Words> = {
  AGENT_ERROR: {
    cause: 'The agent threw an error, ended its thread or returned a failure. `message` is its own text.',
    remedy: 'Read the message. Fix the params, or report the error to the author of the agent.',
  },
  AGENT_TIMEOUT: {
    cause: "The agent took longer than its endpoint's `timeoutSeconds`.",
    remedy: 'Send less work per task, or ask the operator to raise `timeoutSeconds`.',
  },
  AGENT_UNAVAILABLE: {
    cause: 'The endpoint was removed from the configuration before the task started.',
    remedy: 'Use an endpoint that `GET /api/agents` lists.',
  },
  AGENT_OUTPUT_INVALID: {
    cause: 'The agent returned a value that JSON cannot represent.',
    remedy: 'Report it to the author of the agent.',
  },
  AGENT_OUTPUT_TOO_LARGE: {
    cause: 'The result is larger than `maxResultBytes`.',
    remedy: 'Request a smaller result, or ask the operator to raise `maxResultBytes`.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The service stopped or crashed during the run, or could not read the stored request, and the endpoint had no `retries` left.',
    remedy: 'Create the task again. This was not a failure of the agent and does not count toward the block.',
  },
  CANCELED: {
    cause: 'The user canceled the task. It counts toward the block if an agent was already running it.',
    remedy: 'None. The price was refunded.',
  },
  EXPIRED: {
    cause: 'No agent started the task within its `expiresInSeconds`.',
    remedy: 'Create the task again with more time. The price was refunded.',
  },
  CONNECTORS_BLOCKED: {
    cause: 'Another task of the account failed after it had called a connector, while this one was queued.',
    remedy: 'Create the task again without connectors, or after the time in `message`. The price was refunded.',
  },
}

export const turnEndWords: Record<TurnEndCode, Words> = {
  AGENT_ERROR: {
    cause: 'The agent or its model failed or rejected the message.',
    remedy: 'Read the message. A shorter conversation or a different message may help.',
  },
  AGENT_TIMEOUT: {
    cause: 'The reply took longer than `turnTimeoutSeconds`.',
    remedy: 'The partial reply is stored. Ask for the rest in the next message.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The client disconnected, the session was deleted, or the service stopped, was interrupted or had no memory for a longer reply.',
    remedy: 'If the error says that nothing was charged, send the message again.',
  },
  INSUFFICIENT_BALANCE: {
    cause: 'The balance does not cover more of this reply. The delivered part is charged and stored.',
    remedy: 'Add credit, then continue in the next message.',
  },
  BUDGET_REACHED: {
    cause:
      'The reply reached the cap (`maxCostUsd`) of the chat or its session. The delivered part is charged and stored.',
    remedy: 'Raise the cap, then continue in the next message.',
  },
  LIMIT_REACHED: {
    cause:
      'The reply reached the spending limit of the API key or the plan, or the cap of the client token. The delivered part is charged and stored.',
    remedy: 'Raise the limit or wait until it resets, then continue in the next message.',
  },
  INTERNAL_ERROR: {
    cause: 'The service failed, or could not settle the chat in time.',
    remedy:
      'If the error says that nothing was charged, send the message again. Otherwise, check the transactions of the session.',
  },
}

export const clientOnlyWords: Record<ClientOnlyCode, Words> = {
  INVALID_ARGUMENT: {
    cause: 'An option or argument is invalid. Nothing was sent.',
    remedy: 'Fix the fields in `details`.',
  },
  NETWORK_ERROR: {
    cause: 'There was no response: the service is unreachable, or the connection was lost.',
    remedy: 'Check the URL. Repeat writes with the same idempotency key.',
  },
  TIMEOUT: {
    cause: 'The service did not respond, or the task did not finish, within the allowed time.',
    remedy: 'The task continues; `taskId` of the error names it. Allow more time, or wait again.',
  },
  BAD_RESPONSE: {
    cause: "The response is not from the service, but for example a proxy's error page. See `status`.",
    remedy: 'Check `baseUrl` and any proxies.',
  },
  INVALID_SIGNATURE: {
    cause: 'A webhook request is not signed with the secret, or is more than five minutes old.',
    remedy:
      'Respond with 400 and do nothing else. Check that the secret belongs to this webhook and that the raw body is verified.',
  },
}
