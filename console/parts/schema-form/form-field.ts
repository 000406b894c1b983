export type ParamsJsonSchema = Readonly<Record<string, unknown>>

export type TextField = {
  kind: 'text'
  inputType: 'text' | 'email' | 'url' | 'date'
  /** Number of visible lines. With 0, the input has a single line and accepts no line breaks. */
  lines: number
  minLength: number | undefined
  maxLength: number | undefined
  pattern: RegExp | undefined
  format: string | undefined
}
export type NumberField = {
  kind: 'number'
  isInteger: boolean
  min: number | undefined
  max: number | undefined
  /** Whether the value must be greater than `min` and cannot equal it. `isMaxExcluded` is the same for `max`. */
  isMinExcluded: boolean
  isMaxExcluded: boolean
  multipleOf: number | undefined
}
export type ChoiceField = { kind: 'choice'; options: readonly { label: string; value: unknown }[] }
type Bounds = { minItems: number | undefined; maxItems: number | undefined; isUnique: boolean }
/** A list of short values, shown on one line. */
export type TagsField = Bounds & { kind: 'tags'; item: Field<TextField | NumberField | ChoiceField> }
export type ListField = Bounds & { kind: 'list'; item: FormField }
export type Property = { name: string; isRequired: boolean; field: FormField }
export type ObjectField = {
  kind: 'object'
  properties: readonly Property[]
  takesOthers: boolean
}
export type VariantsField = { kind: 'variants'; variants: readonly FormField[] }
/** A value entered as JSON, because a form cannot express it. */
export type JsonField = { kind: 'json'; expects: 'object' | 'array' | undefined }
export type FieldKind =
  | TextField
  | NumberField
  | { kind: 'boolean' }
  | ChoiceField
  | { kind: 'constant'; value: unknown }
  | TagsField
  | ListField
  | ObjectField
  | VariantsField
  | JsonField

type FieldBase = {
  label: string
  description: string | undefined
  isNullable: boolean
  /** Default value, or undefined if there is none. A default cannot be undefined, because it is JSON. */
  initial: unknown
}

export type Field<Kind extends FieldKind> = FieldBase & Kind
export type FormField = Field<FieldKind>

const kindLabels: Record<FieldKind['kind'], string> = {
  text: 'Text',
  number: 'Number',
  boolean: 'Yes or no',
  choice: 'One of a list',
  constant: 'Fixed',
  tags: 'List',
  list: 'List',
  object: 'Fields',
  variants: 'One of several',
  json: 'JSON',
}

export function kindLabel(field: FormField): string {
  if (field.kind === 'constant') return String(field.value)
  if (field.kind === 'object') {
    const told = field.properties.find((property) => property.field.kind === 'constant')?.field
    if (told?.kind === 'constant') return toWords(String(told.value))
  }
  return kindLabels[field.kind]
}

/** Converts an API name to words: `maxItems` and `max_items` become `Max items`, and `csvUrl` becomes `CSV URL`. */
export function toWords(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
  if (words === '') return name
  const lower = words.replaceAll(/\b[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase())
  const spelled = lower.replaceAll(/\b(?:api|csv|html|id|json|pdf|sql|url|xml)\b/g, (acronym) => acronym.toUpperCase())
  return spelled.charAt(0).toUpperCase() + spelled.slice(1)
}
