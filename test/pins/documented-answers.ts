import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { z } from 'zod'
import { documentFile } from '../../server/http/files/docs-pages.ts'
import { must } from '../../server/kernel/assert.ts'
import type { Answer, TestService } from '../support/test-service.ts'

export type Json = Record<string, any>

export const source = readFileSync(documentFile, 'utf8')
export const document = JSON.parse(source) as Json

export type Operation = { method: string; path: string; id: string; spec: Json }

/** Replaces every reference with its target, overridden by sibling fields; the document has no cycles. */
function dereference(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(dereference)
  const { $ref: ref, ...rest } = value as Json
  const own = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, dereference(each)]))
  if (ref === undefined) return own
  const [, kind, name] = must(/^#\/components\/(schemas|headers)\/([\w-]+)$/.exec(ref as string), 'a reference')
  return { ...(dereference(must(document['components'][kind!][name!], ref)) as Json), ...own }
}

export const operations: Operation[] = Object.entries(dereference(document['paths']) as Json).flatMap(
  ([path, methods]) =>
    Object.entries<Json>(methods).map(([method, spec]) => ({
      method: method.toUpperCase(),
      path,
      id: spec['operationId'],
      spec,
    })),
)

/** Returns a copy of the schema that rejects unknown fields, because the document itself allows future fields. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(closed)
  const copy: Json = Object.fromEntries(Object.entries(schema).map(([key, each]) => [key, closed(each)]))
  return 'properties' in copy && copy['type'] === 'object' ? { additionalProperties: false, ...copy } : copy
}

function validatorOf(schema: unknown): z.ZodType {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
}

/** Validates a response, which may have only the fields of its schema. */
export function answerValidatorOf(content: Json, type = 'application/json'): z.ZodType {
  const { schema } = content[type]
  return validatorOf(closed(schema.contentSchema ?? schema))
}

function checkLines(content: Json, body: string): void {
  const validator = answerValidatorOf(content, 'application/x-ndjson')
  for (const line of body.trimEnd().split('\n')) expect(validator.safeParse(JSON.parse(line)).error).toBe(undefined)
}

export function operationAt(method: string, target: string): Operation {
  const path = target.split('?')[0]!
  const fits = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  const fitting = operations.filter((operation) => operation.method === method && fits(operation.path))
  // Literal segments take precedence over parameters.
  const operation = fitting.find((one) => one.path === path) ?? fitting[0]
  return must(operation, `${method} ${path} is documented`)
}

const rateHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const knownHeaders = ['X-Request-Id', 'WWW-Authenticate', 'Set-Cookie', ...rateHeaders]

/** Throws unless the document promises this response for the operation. */
function checkAnswer({ id, spec }: Operation, { body, headers, status }: Answer): void {
  const what = `${id} ${status}`
  const documented = must<Json>(spec['responses'][status], `${what} is documented`)
  const promised = Object.keys(documented['headers'] ?? {})
  const mayLack = (name: string) => /absent if/.test(documented['headers']?.[name]?.description ?? '')
  for (const name of status === 304 ? [] : knownHeaders) {
    if (!headers.has(name) && mayLack(name)) continue
    expect(headers.has(name), `${what} ${name}`).toBe(promised.includes(name))
  }
  const needed = promised.filter((name) => documented['headers'][name].required)
  for (const name of status === 304 ? [] : needed) expect(headers.has(name), `${what} ${name}`).toBe(true)
  if (headers.has('Retry-After')) expect(promised, what).toContain('Retry-After')
  if (!documented['content']) return expect(body, what).toBe('')
  if (headers.get('content-type') === 'application/x-ndjson') return checkLines(documented['content'], body)
  const type = headers.get('content-type')?.startsWith('text/csv') ? 'text/csv' : undefined
  const result = answerValidatorOf(documented['content'], type).safeParse(body)
  expect(result.error?.issues, what).toBe(undefined)
  if (status >= 400) expect(body.statusCode).toBe(status)
}

type Options = { key?: string | null; body?: unknown; headers?: Record<string, string> }

/** Sends requests, checks each response against the document, and records the statuses seen per operation. */
export class Checker {
  readonly seen = new Map<string, Set<number>>()
  readonly service: TestService
  readonly key: string

  constructor(service: TestService, key: string) {
    this.service = service
    this.key = key
  }

  async check(status: number, request: string, options: Options = {}): Promise<Answer> {
    const [method, path] = request.split(' ') as [string, string]
    const answer = await this.service.request(method, path, { key: this.key, ...options })
    return this.note(status, request, { answer, body: options.body })
  }

  /** Checks a response obtained elsewhere. */
  note(status: number, request: string, { answer, body }: { answer: Answer; body?: unknown }): Answer {
    const [method, path] = request.split(' ') as [string, string]
    const operation = operationAt(method, path)
    expect(answer.status, `${request}: ${JSON.stringify(answer.body)}`).toBe(status)
    checkAnswer(operation, answer)
    const input = operation.spec['requestBody']
    if (input && status === 200)
      expect(validatorOf(input.content['application/json'].schema).safeParse(body).error).toBe(undefined)
    this.seen.set(operation.id, (this.seen.get(operation.id) ?? new Set()).add(status))
    return answer
  }
}
