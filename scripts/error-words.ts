import type { ClientOnlyCode } from '../client/client-error.ts'
import type { TurnEndCode } from '../server/chat/turn-ends.ts'
import type { ErrorCode } from '../server/kernel/errors.ts'
import type { taskFailureCodes } from '../server/store/records.ts'

// Wording of docs/reference/errors.md by code. A missing code is a compile error.

type Words = { cause: string; remedy: string }

export const errorWords: Record<ErrorCode, Words> = {
  BAD_REQUEST: {
    cause: 'The body, a parameter or a header is missing or malformed, or does not fit the schema.',
    remedy: 'Correct what `details` names; `path` is the field. Repeating the request as it is gives the same answer.',
  },
  UNAUTHORIZED: {
    cause:
      'There is neither a valid API key nor a browser login: none was sent, it is unknown, revoked or expired, or the password is wrong.',
    remedy: 'Send `Authorization: Bearer <API key>`, or log in again. Create a new key when the old one has ended.',
  },
  FORBIDDEN: {
    cause:
      'The caller is known and may not do this: the key lacks the scope that the message names, the operation is for admins or for browser logins, the request came from a page of another origin, or the account is suspended.',
    remedy: 'Use a key with that scope or another login; ask an admin when the account is suspended.',
  },
  ACCOUNT_BLOCKED: {
    cause:
      'Too many tasks of the account failed within the window, so it creates no tasks for now. Or one of them failed after it had called a connector, so it creates no tasks with `connectorIds` for a day. Or more than `maxWrittenOffUsdPerDay` of its chats was written off today.',
    remedy:
      'Wait for `Retry-After`, or leave out `connectorIds` if the message says so. `GET /api/account` says when a block of tasks ends. `errand users unblock` lifts it. Chats go on at the next day of UTC.',
  },
  INSUFFICIENT_BALANCE: {
    cause:
      'The balance, less what is held of it, is lower than the cost, or something is owed because a payment was taken back; the message states which, with the amounts.',
    remedy: 'Have the account credited, wait until other chats release what they hold, or send a smaller `maxTokens`.',
  },
  BUDGET_REACHED: {
    cause:
      'The task costs more than its `maxCostUsd`, or `maxCostUsd` of the chat or of its session does not pay for the first words of a reply.',
    remedy: 'Raise `maxCostUsd`, or leave it out; of a session `PATCH /api/sessions/{sessionId}` changes it.',
  },
  LIMIT_REACHED: {
    cause:
      'More than the API key, the client token or the plan of the account may spend in its period, or more bytes of payloads than an account may store on a day of UTC (`payloadBytesPerDay`); the message states the limit, what is used of it and when it begins anew.',
    remedy:
      'Wait for `Retry-After`, or have the limit raised: of a key by `PATCH /api/keys/{keyId}`, of an account by an admin. `GET /api/account` shows what is used.',
  },
  NOT_FOUND: {
    cause:
      'There is nothing at this path, or no such agent, endpoint, task, session, key, connector, login or user for this caller.',
    remedy:
      'Check the path and the id. What belongs to other accounts, and agents that the caller may not see, count as not there.',
  },
  CONNECTOR_NOT_FOUND: {
    cause: 'A connector of `connectorIds`, or of the session, is not one of the caller.',
    remedy: 'Take the ids from `GET /api/connectors`.',
  },
  METHOD_NOT_ALLOWED: { cause: 'The path has no such method.', remedy: 'Use one of the methods in `Allow`.' },
  REQUEST_TIMEOUT: { cause: 'The request did not arrive in time.', remedy: 'Send it again over a new connection.' },
  CONFLICT: {
    cause:
      'What is there stands against the request: an `Idempotency-Key` that was used for another request, a name that is taken, a quote that was used or has expired, a bound of the account that is reached, a task that can no longer be canceled, or something that was changed meanwhile.',
    remedy:
      'Do what the message says: another key, name or quote, delete something first, or read the current state and decide again.',
  },
  SESSION_BUSY: {
    cause: 'Another message of the session is being answered.',
    remedy: 'Wait for the `done` or `error` event of that reply, then send the message again.',
  },
  SESSION_COMPLETED: { cause: 'The session is completed.', remedy: 'Create a new session.' },
  SESSION_EXPIRED: {
    cause: 'The session had neither a chat nor an update for 24 hours (`sessionIdleSeconds`).',
    remedy: 'Create a new session.',
  },
  EVENTS_EXPIRED: {
    cause:
      'The events of a reply that were asked for are no longer kept: ten minutes after its end, or sooner if the reply was long: at most 8 MB of events are kept of one reply.',
    remedy: 'Read `GET /api/sessions/{sessionId}/messages`, and the charge in `GET /api/transactions?turnId=`.',
  },
  PAYLOAD_TOO_LARGE: {
    cause: 'The body is larger than `maxBodyBytes` or has too many values, or the answers of a batch are too large.',
    remedy: 'Send less at a time, and large data as one text.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: 'The body is not `application/json` in UTF-8, or is compressed.',
    remedy: 'Send plain JSON with `Content-Type: application/json`.',
  },
  EXPECTATION_FAILED: {
    cause: '`Expect` holds something else than `100-continue`.',
    remedy: 'Leave the header out.',
  },
  CONNECTOR_FAILED: {
    cause:
      "The server behind one of the caller's connectors cannot be reached or used, or the connector needs a sign-in; the message says why.",
    remedy:
      'Correct the connector, and try it with `POST /api/connectors/{connectorId}/test`; sign in with `POST /api/connectors/{connectorId}/sign-in`.',
  },
  RATE_LIMIT_EXCEEDED: {
    cause:
      'More executions, writes, checks of connectors, tests of webhooks or waiting chats than the account may have.',
    remedy: 'Wait for `Retry-After`. For executions `X-RateLimit-Reset` says when the next one is free.',
  },
  LOGIN_THROTTLED: {
    cause: 'Too many tries of a password, for this email address or from this client.',
    remedy: 'Wait for `Retry-After`.',
  },
  HEADERS_TOO_LARGE: { cause: 'The request headers are too large.', remedy: 'Send fewer or shorter headers.' },
  INTERNAL_ERROR: {
    cause: 'The service failed; its log has the cause under the request id.',
    remedy: 'Quote `X-Request-Id` to whoever runs the service.',
  },
  SERVICE_UNAVAILABLE: {
    cause:
      'The service is overloaded or stopping, too many tasks wait, or the database or the store of payloads cannot be used. Nothing was done, but where a commit is in doubt.',
    remedy: 'Wait for `Retry-After`, then repeat the request with the same `Idempotency-Key`.',
  },
}

export const taskFailureWords: Record<(typeof taskFailureCodes)[number], Words> = {
  AGENT_ERROR: {
    cause: 'The agent threw an error, left its thread, or answered with a failure; `message` is its own text.',
    remedy: 'Look at the message; correct the params, or report it to the author of the agent.',
  },
  AGENT_TIMEOUT: {
    cause: "The agent took longer than its endpoint's `timeoutSeconds`.",
    remedy: 'Send less work at a time; the operator can raise `timeoutSeconds`.',
  },
  AGENT_UNAVAILABLE: {
    cause: 'The endpoint was removed from the configuration before the task had its turn.',
    remedy: 'Use an endpoint that `GET /api/agents` lists.',
  },
  AGENT_OUTPUT_INVALID: {
    cause: 'The agent returned what JSON cannot hold.',
    remedy: 'Report it to the author of the agent.',
  },
  AGENT_OUTPUT_TOO_LARGE: {
    cause: 'The result is larger than `maxResultBytes`.',
    remedy: 'Ask for less; the operator can raise `maxResultBytes`.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The service stopped or crashed during the run, or could not read the stored request, and the endpoint had no `retries` left.',
    remedy: 'Create the task again. It was no failure of the agent and does not count towards the block.',
  },
  CANCELED: {
    cause: 'Its user canceled it. It counts towards the block where an agent was at work on it.',
    remedy: 'Nothing is needed: the price was refunded.',
  },
  EXPIRED: {
    cause: 'No agent had begun it within its `expiresInSeconds`.',
    remedy: 'Create the task again, with more time; the price was refunded.',
  },
  CONNECTORS_BLOCKED: {
    cause: 'Another task of the account failed after it had called a connector, while this one was queued.',
    remedy: 'Create the task again without connectors, or after the time in `message`. The price was refunded.',
  },
}

export const turnEndWords: Record<TurnEndCode, Words> = {
  AGENT_ERROR: {
    cause: 'The agent or its model failed, or refused what it was sent.',
    remedy: 'Look at the message; a shorter conversation or another message may help.',
  },
  AGENT_TIMEOUT: {
    cause: 'The reply took longer than `turnTimeoutSeconds`.',
    remedy: 'The partial reply is kept; ask for the rest in the next message.',
  },
  AGENT_INTERRUPTED: {
    cause:
      'The client left, the session was deleted, or the service stopped, was interrupted or had no memory for a longer reply.',
    remedy: 'When the message says that nothing was charged, send the message again.',
  },
  INSUFFICIENT_BALANCE: {
    cause: 'The balance does not cover more of this reply; what was delivered is charged and kept.',
    remedy: 'Have the account credited, then go on in the next message.',
  },
  BUDGET_REACHED: {
    cause:
      'More of this reply would cost more than `maxCostUsd` of the chat or of its session; what was delivered is charged and kept.',
    remedy: 'Raise the cap, then go on in the next message.',
  },
  LIMIT_REACHED: {
    cause:
      'More of this reply would be beyond what the API key, the client token or the plan of the account may spend in its period; what was delivered is charged and kept.',
    remedy: 'Have the limit raised or wait until it begins anew, then go on in the next message.',
  },
  INTERNAL_ERROR: {
    cause: 'The service failed, or could not settle the chat in time.',
    remedy:
      'When the message says that nothing was charged, send the message again; else look at the transactions of the session.',
  },
}

export const clientOnlyWords: Record<ClientOnlyCode, Words> = {
  INVALID_ARGUMENT: {
    cause: 'An option or an argument cannot be sent; nothing was.',
    remedy: 'Correct what `details` names.',
  },
  NETWORK_ERROR: {
    cause: 'There was no answer: the service could not be reached, or the connection broke.',
    remedy: 'Check the address; repeat writing calls with the same idempotency key.',
  },
  TIMEOUT: {
    cause: 'There was no answer, or no end of the task, within the time allowed.',
    remedy: 'A task goes on: `taskId` of the error names it. Allow more time, or wait again.',
  },
  BAD_RESPONSE: {
    cause: "The answer is not one of the service's, such as the error page of a proxy; see `status`.",
    remedy: 'Check `baseUrl` and what stands between.',
  },
  INVALID_SIGNATURE: {
    cause: 'A webhook request is not signed with the secret, or is more than five minutes old.',
    remedy:
      'Answer 400 and do nothing else. Check that the secret is the one of this webhook, and the body as it came.',
  },
}
