import { trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { expect } from 'vitest'

/** Registers the OpenTelemetry SDK as an operator's file does, and keeps the spans in memory. */
export class KeptSpans {
  readonly #exporter = new InMemorySpanExporter()
  readonly #provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] })

  static register(): KeptSpans {
    const kept = new KeptSpans()
    expect(trace.setGlobalTracerProvider(kept.#provider)).toBe(true)
    return kept
  }

  unregister(): void {
    trace.disable()
  }

  get all(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }

  named(name: string): ReadableSpan[] {
    return this.all.filter((span) => span.name === name)
  }

  /** Returns the span of the only run of an endpoint. */
  async run(endpointId: string): Promise<ReadableSpan> {
    const found = () => this.all.filter(({ attributes }) => attributes['errand.endpoint.id'] === endpointId)
    await expect.poll(() => found().length, { timeout: 20_000 }).toBe(1)
    return found()[0]!
  }

  async one(name: string): Promise<ReadableSpan> {
    await expect.poll(() => this.named(name).length, { timeout: 20_000 }).toBe(1)
    return this.named(name)[0]!
  }
}
