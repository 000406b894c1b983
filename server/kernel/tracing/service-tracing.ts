import {
  context,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type ProxyTracerProvider,
  type Span,
  type SpanContext,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import type { IncomingMessage } from 'node:http'
import { shownPath, splitTarget } from '../request-url.ts'
import { formatUsd, type Units } from '../money.ts'
import { packageVersion } from '../package-version.ts'
import { remoteContext } from './trace-parent.ts'
import type { RequestTrace } from './request-trace.ts'

type RunAgent = { agentId: string; agentName: string | undefined; userId: string }
type TaskRun = RunAgent & { id: string; endpointId: string; attempt: number }
type ChatRun = RunAgent & { turnId: string; sessionId: string; request: Span | undefined }
/** A run's usage, for span attributes that follow the GenAI conventions. `model` is null if unknown. */
export type SpanUsage = {
  model: string | null
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  completionTokens: number
  reasoningTokens: number
}
type ChatEnd = {
  end: string
  /** Code of the error event. Null for a reply that finished. */
  code: string | null
  usage: SpanUsage
  toolCalls: number
  cost: Units | undefined
}
type RequestEnd = { about: RequestTrace; operation: string; status: number; isAnswered: boolean }

const tracerName = 'errand'
/**
 * Maximum number of links for tasks that this process has admitted but not started. Beyond that, the oldest link is
 * dropped, because its task may have been canceled or be running on another node.
 */
const linksMax = 10_000
const flushMsMax = 5000
/** Paths that monitoring requests every few seconds. Their spans would drown out all others. */
const probes = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

/**
 * Creates spans for requests, task and chat runs, and database commits, with the OpenTelemetry SDK that is registered
 * at startup. SDK errors do not affect the service. Attributes are ids, names and numbers, never user content.
 */
export class ServiceTracing {
  readonly #tracer: Tracer
  readonly #provider: TracerProvider
  readonly #links = new Map<string, SpanContext>()

  /** Returns undefined if no SDK is registered. */
  static open(): ServiceTracing | undefined {
    const global = trace.getTracerProvider() as TracerProvider & Partial<ProxyTracerProvider>
    // Detect the proxy in front of the registered provider by its methods, because its class may come from another copy
    // of the API package.
    if (!global.getDelegate || !global.getDelegateTracer) return new ServiceTracing(global)
    return global.getDelegateTracer(tracerName) && new ServiceTracing(global.getDelegate())
  }

  private constructor(provider: TracerProvider) {
    this.#provider = provider
    this.#tracer = provider.getTracer(tracerName, packageVersion)
  }

  /** The span's parent is the client's span, if the client sent one. */
  requestBegan({ headers, method = '', url = '' }: IncomingMessage): Span | undefined {
    if (probes.test(url)) return undefined
    const path = shownPath(splitTarget(url)?.path ?? '')
    const active = context.active()
    // Instrumentation of node:http may already have opened a span.
    const parent = trace.getSpan(active) ? active : remoteContext(headers)
    const attributes = { 'http.request.method': method, 'url.path': path, 'url.scheme': 'http' }
    return quietly(() => this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent))
  }

  requestEnded({ about, isAnswered, operation, status }: RequestEnd): void {
    const { requestId, route, sessionId, span, taskId, userId } = about
    if (!span) return
    quietly(() => {
      span.updateName(operation)
      span.setAttribute('errand.request.id', requestId)
      if (isAnswered) span.setAttribute('http.response.status_code', status)
      if (route !== undefined) span.setAttribute('http.route', route)
      if (userId !== undefined) span.setAttribute('user.id', userId)
      if (taskId !== undefined) span.setAttribute('errand.task.id', taskId)
      if (sessionId !== undefined) span.setAttribute('gen_ai.conversation.id', sessionId)
      if (status >= 500) {
        span.setAttribute('error.type', String(status))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    })
  }

  /** Remembers the request that admitted a task, so that the task's run can link to it. */
  taskAdmitted(taskId: string, request: Span | undefined): void {
    if (!request) return
    if (this.#links.size >= linksMax) this.#links.delete(this.#links.keys().next().value!)
    this.#links.set(taskId, request.spanContext())
  }

  /**
   * Starts a separate trace for each run, because a run can start long after its request and in another process. The
   * kind is CONSUMER instead of the convention's INTERNAL, because the run comes from a queue.
   */
  taskBegan({ attempt, endpointId, id, ...run }: TaskRun): Span | undefined {
    const link = this.#links.get(id)
    this.#links.delete(id)
    return quietly(() =>
      this.#tracer.startSpan(
        agentSpanName(run),
        {
          kind: SpanKind.CONSUMER,
          root: true,
          ...(link && { links: [{ context: link }] }),
          attributes: {
            'errand.task.id': id,
            'errand.task.attempt': attempt,
            'errand.endpoint.id': endpointId,
            ...agentAttributes(run),
          },
        },
        ROOT_CONTEXT,
      ),
    )
  }

  chatBegan({ request, sessionId, turnId, ...run }: ChatRun): Span | undefined {
    const parent: Context = request ? trace.setSpan(ROOT_CONTEXT, request) : ROOT_CONTEXT
    return quietly(() =>
      this.#tracer.startSpan(
        agentSpanName(run),
        {
          attributes: {
            'errand.turn.id': turnId,
            'gen_ai.conversation.id': sessionId,
            ...agentAttributes(run),
          },
        },
        parent,
      ),
    )
  }

  /**
   * Records the span of one database transaction, which may contain the writes of many requests. `startedAt` comes from
   * performance.now().
   */
  committed({ commands, isDurable, startedAt }: { commands: number; isDurable: boolean; startedAt: number }): void {
    const attributes = {
      'db.system.name': 'sqlite',
      'db.operation.name': 'COMMIT',
      'db.operation.batch.size': commands,
    }
    const options = { kind: SpanKind.CLIENT, root: true, startTime: performance.timeOrigin + startedAt, attributes }
    quietly(() => {
      const span = this.#tracer.startSpan('commit', options, ROOT_CONTEXT)
      if (!isDurable) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
  }

  /** Sends the spans that the SDK still buffers. Call it before the process ends. */
  async flush(): Promise<void> {
    const { forceFlush } = this.#provider as { forceFlush?: () => Promise<void> }
    if (typeof forceFlush !== 'function') return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, flushMsMax)))
    await Promise.race([forceFlush.call(this.#provider).catch(() => {}), late])
    clearTimeout(timer)
  }
}

// Run spans follow the GenAI conventions for `invoke_agent`
// (https://github.com/open-telemetry/semantic-conventions-genai).

function agentSpanName({ agentId, agentName }: RunAgent): string {
  return `invoke_agent ${agentName ?? agentId}`
}

function agentAttributes({ agentId, agentName, userId }: RunAgent) {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    // Report Errand as the provider, because an agent may use several models.
    'gen_ai.provider.name': 'errand',
    'gen_ai.agent.id': agentId,
    ...(agentName !== undefined && { 'gen_ai.agent.name': agentName }),
    'user.id': userId,
  }
}

function setUsage(span: Span, usage: SpanUsage): void {
  const { cacheWriteTokens, cachedPromptTokens, completionTokens, model, promptTokens, reasoningTokens } = usage
  if (model !== null) span.setAttribute('gen_ai.request.model', model)
  span.setAttribute('gen_ai.usage.input_tokens', promptTokens)
  span.setAttribute('gen_ai.usage.output_tokens', completionTokens)
  if (cachedPromptTokens > 0) span.setAttribute('gen_ai.usage.cache_read.input_tokens', cachedPromptTokens)
  if (cacheWriteTokens > 0) span.setAttribute('gen_ai.usage.cache_creation.input_tokens', cacheWriteTokens)
  if (reasoningTokens > 0) span.setAttribute('gen_ai.usage.reasoning.output_tokens', reasoningTokens)
}

type TaskEnd = { end: string; code: string; usage: SpanUsage | undefined }

export function endTaskSpan(span: Span, { code, end, usage }: TaskEnd): void {
  quietly(() => {
    span.setAttribute('errand.run.end', end)
    if (usage) setUsage(span, usage)
    if (code !== '') fail(span, code)
    span.end()
  })
}

export function endChatSpan(span: Span, ended: ChatEnd): void {
  const { code, cost, end, toolCalls, usage } = ended
  quietly(() => {
    span.setAttribute('errand.run.end', end)
    setUsage(span, usage)
    span.setAttribute('errand.tool_calls', toolCalls)
    if (cost !== undefined) span.setAttribute('errand.cost_usd', formatUsd(cost))
    if (code !== null && end === 'failed') fail(span, code)
    span.end()
  })
}

function fail(span: Span, code: string): void {
  span.setAttribute('error.type', code)
  span.setStatus({ code: SpanStatusCode.ERROR, message: code })
}

/** Reports SDK errors to the SDK's own diagnostics, so that they do not affect the traced work. */
function quietly<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    diag.error('could not create a span', error)
    return undefined
  }
}
