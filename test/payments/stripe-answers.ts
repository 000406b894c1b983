import type { ServerResponse } from 'node:http'
import type { Metadata } from './stripe-objects.ts'

export type Fields = Record<string, string>

export function metadataIn(form: Fields, name: string): Metadata {
  const inner = Object.entries(form).filter(([field]) => field.startsWith(`${name}[`))
  return Object.fromEntries(inner.map(([field, value]) => [field.slice(name.length + 1, -1), value]))
}

export function ok(answer: object): { status: number; answer: object } {
  return { status: 200, answer }
}

export function invalid(message: string): { status: number; answer: object } {
  return { status: 400, answer: { error: { type: 'invalid_request_error', message } } }
}

export function found(answer: object | undefined): { status: number; answer: object } {
  const error = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' }
  return answer ? ok(answer) : { status: 404, answer: { error } }
}

export function refuse(response: ServerResponse, status: number, code: string, type = 'invalid_request_error'): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { type, code, message: code } }))
}

export function pageOf(url: string, newest: { id: string }[], query: Fields) {
  const after = newest.findIndex(({ id }) => id === query['starting_after']) + 1
  const limit = Number(query['limit'] ?? 10)
  return { object: 'list', url, has_more: newest.length > after + limit, data: newest.slice(after, after + limit) }
}
