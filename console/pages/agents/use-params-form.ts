import { useEffect, useMemo, useState } from 'react'
import { checkValue, placeProblems, shownPaths, type Problem } from '../../parts/schema-form/check-value.ts'
import type { FormField, ParamsJsonSchema } from '../../parts/schema-form/form-field.ts'
import { initialValue, isEqual, isObject, toJson } from '../../parts/schema-form/form-value.ts'
import { draftOf, forgetDraft, keepDraft, storeDraft } from './params-draft.ts'
import { readJson } from '../../parts/schema-form/read-json.ts'
import { readSchema } from '../../parts/schema-form/read-schema.ts'

type Problems = ReturnType<typeof placeProblems>
type Mode = 'form' | 'json'
type Json = { text: string; problem: string | undefined }

export type ParamsForm = {
  field: FormField
  mode: Mode
  switchTo: (mode: Mode) => void
  value: unknown
  setValue: (next: unknown) => void
  /** Increases when the whole value is replaced, which remounts the inputs. */
  version: number
  json: Json
  setJson: (text: string) => void
  params: unknown
  problems: Problems
  setProblems: (problems: readonly Problem[]) => void
  /** Returns the params to send. If there are problems, shows them and returns undefined. */
  check: () => Record<string, unknown> | undefined
  isChanged: boolean
  /** Resets to the initial value. Until the user types something, `undo` restores the previous input. */
  clear: () => void
  undo: (() => void) | undefined
  /** Fills in the schema's sample. Undefined if there is none, or if the form has other input. */
  fillSample: (() => void) | undefined
  forget: () => void
}

type ParamsFormOptions = {
  schema: ParamsJsonSchema
  start: unknown
  draftName: string
}

const storePauseMs = 400

/** Returns the first object in a JSON Schema's `examples`. */
function sampleOf({ examples }: ParamsJsonSchema): Record<string, unknown> | undefined {
  return Array.isArray(examples) ? examples.find(isObject) : undefined
}

const noProblems: Problems = { fields: new Map(), rest: [] }

/** State of an endpoint's params during editing, as a form or as JSON. Converts between the two. */
export function useParamsForm({ schema, start, draftName }: ParamsFormOptions): ParamsForm {
  const field = useMemo(() => readSchema(schema), [schema])
  const first = useMemo(() => (start === undefined ? initialValue(field, true) : start), [field, start])
  const [value, setOnlyValue] = useState(() => draftOf(draftName) ?? first)
  const [cleared, setCleared] = useState<{ value: unknown }>()
  const [mode, setMode] = useState<Mode>('form')
  const [json, setOnlyJson] = useState<Json>({ text: '', problem: undefined })
  /**
   * The JSON generated from the form. If the user does not change it, switching back to the form restores even
   * unfinished input.
   */
  const [written, setWritten] = useState('')
  const [version, setVersion] = useState(0)
  const [problems, place] = useState<Problems>(noProblems)

  const read = useMemo(() => (mode === 'json' ? readParams(json.text) : undefined), [mode, json.text])
  const params = useMemo(
    () => (read ? ('value' in read ? read.value : {}) : (toJson(field, value) ?? {})),
    [field, read, value],
  )
  const setProblems = (found: readonly Problem[]) => {
    place(placeProblems(found, new Set(mode === 'form' ? shownPaths(field, value) : [])))
  }

  /**
   * The value to keep as the draft. Undefined while the JSON is invalid, so that the draft keeps its previous value.
   */
  const kept = mode === 'json' && json.text !== written ? (read && 'value' in read ? read.value : undefined) : value
  const isSame = useMemo(() => kept !== undefined && isEqual(kept, first), [kept, first])
  const isChanged = !isSame
  const sample = sampleOf(schema)
  useDraft({ name: draftName, field, value: kept, isChanged })

  const replace = (next: unknown) => {
    setOnlyValue(next)
    setVersion(version + 1)
    place(noProblems)
    const text = JSON.stringify(toJson(field, next) ?? {}, null, 2)
    setWritten(text)
    setOnlyJson({ text, problem: undefined })
  }

  return {
    field,
    isChanged,
    clear: () => {
      setCleared({ value: kept ?? value })
      replace(first)
    },
    undo: cleared && isSame ? () => replace(cleared.value) : undefined,
    fillSample:
      sample !== undefined && start === undefined && isSame
        ? () => replace({ ...(isObject(first) && first), ...sample })
        : undefined,
    forget: () => forgetDraft(draftName),
    mode,
    value,
    version,
    json,
    params,
    problems,
    setProblems,
    setValue: (next) => {
      setOnlyValue(next)
      // Remove the errors of changed fields, which may be valid now. Unchanged fields keep theirs.
      const kept = [...problems.fields].filter(([path]) => isEqual(valueAt(value, path), valueAt(next, path)))
      place({ fields: new Map(kept), rest: [] })
    },
    setJson: (text) => {
      setOnlyJson({ text, problem: undefined })
      place(noProblems)
    },
    switchTo: (next) => {
      if (next === mode) return
      if (next === 'json') {
        const text = JSON.stringify(toJson(field, value) ?? {}, null, 2)
        setWritten(text)
        setOnlyJson({ text, problem: undefined })
      } else if (json.text !== written) {
        const back = readParams(json.text)
        if ('problem' in back) return setOnlyJson({ text: json.text, problem: back.problem })
        setOnlyValue(back.value)
        setVersion(version + 1)
      }
      place(noProblems)
      setMode(next)
    },
    check: () => {
      if (read) {
        if ('value' in read) return read.value
        setOnlyJson({ text: json.text, problem: read.problem })
        return undefined
      }
      const found = checkValue(field, value)
      setProblems(found)
      return found.length === 0 && isObject(params) ? params : undefined
    },
  }
}

type DraftOptions = { name: string; field: FormField; value: unknown; isChanged: boolean }

/** Keeps the input as a draft. Stores the draft when the user stops typing or leaves the page. */
function useDraft({ name, field, value, isChanged }: DraftOptions): void {
  useEffect(() => {
    if (value === undefined) return
    if (!isChanged) return forgetDraft(name)
    keepDraft(name, field, value)
    const store = () => storeDraft(name, field)
    const timer = setTimeout(store, storePauseMs)
    addEventListener('pagehide', store)
    return () => {
      clearTimeout(timer)
      removeEventListener('pagehide', store)
    }
  }, [name, field, value, isChanged])
  useEffect(() => () => storeDraft(name, field), [name, field])
}

function valueAt(value: unknown, path: string): unknown {
  let part = value
  for (const key of path.split('.')) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined
    part = Reflect.get(part, key)
  }
  return part
}

function readParams(text: string): { value: Record<string, unknown> } | { problem: string } {
  const read = readJson(text)
  if ('problem' in read) return read
  return isObject(read.value) ? { value: read.value } : { problem: 'Params must be a JSON object' }
}
