import { storedPrefix, whenLeaving } from '../../app/leave-console.ts'
import type { FormField } from '../../parts/schema-form/form-field.ts'
import { isObject, matches, ownValue, toJson } from '../../parts/schema-form/form-value.ts'

// Drafts are params that the user has entered in this tab but not run yet. There is one per form. They survive a reload
// and are deleted when the login ends. Secrets are never stored.

const prefix = `${storedPrefix}params.`
const drafts = new Map<string, unknown>()
whenLeaving(() => drafts.clear())

export function draftOf(name: string): unknown {
  if (drafts.has(name)) return drafts.get(name)
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(prefix + name) ?? 'null')
    return isObject(stored) ? stored : undefined
  } catch {
    return undefined
  }
}

/** Keeps params in memory until the page is closed. Call `storeDraft` to make them survive a reload. */
export function keepDraft(name: string, field: FormField, value: unknown): void {
  drafts.set(name, withoutSecrets(field, value))
}

export function forgetDraft(name: string): void {
  drafts.set(name, undefined)
  storeDraft(name, undefined)
}

/** Writes a draft to `sessionStorage` as JSON. Unfinished input is not included. */
export function storeDraft(name: string, field: FormField | undefined): void {
  const value = drafts.get(name)
  try {
    if (value === undefined || !field) sessionStorage.removeItem(prefix + name)
    else sessionStorage.setItem(prefix + name, JSON.stringify(toJson(field, value) ?? {}))
  } catch {
    // A draft that is too large for `sessionStorage` stays only in memory.
  }
}

/** Removes the values of fields with the format `password`. */
export function withoutSecrets(field: FormField, value: unknown): unknown {
  if (isSecret(field)) return undefined
  if (!hasSecrets(field)) return value
  if (field.kind === 'object' && isObject(value)) {
    const own = new Map(field.properties.map((property) => [property.name, property.field]))
    const entries = Object.keys(value).map((name) => {
      const part = ownValue(value, name)
      const of = own.get(name)
      return [name, of ? withoutSecrets(of, part) : part] as const
    })
    return Object.fromEntries(entries.filter(([, part]) => part !== undefined))
  }
  if (field.kind === 'list' && Array.isArray(value) && !isSecret(field.item)) {
    return value.map((item) => withoutSecrets(field.item, item))
  }
  const variant = field.kind === 'variants' && field.variants.find((one) => matches(one, value))
  // If the value does not fit the form, any part of it may be a secret.
  return variant ? withoutSecrets(variant, value) : undefined
}

function isSecret(field: FormField): boolean {
  return field.kind === 'text' && field.format === 'password'
}

function hasSecrets(field: FormField): boolean {
  switch (field.kind) {
    case 'object':
      return field.properties.some((property) => hasSecrets(property.field))
    case 'list':
    case 'tags':
      return hasSecrets(field.item)
    case 'variants':
      return field.variants.some(hasSecrets)
    default:
      return isSecret(field)
  }
}
