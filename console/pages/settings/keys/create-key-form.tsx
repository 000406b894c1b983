import { Button, Checkbox, Group, NativeSelect, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { Disclosure } from '../../../parts/disclosure.tsx'
import { setIssuedKey } from './issued-key.ts'
import { keyPresets, scopeTexts, type KeyScope } from './key-scopes.ts'
import { KeyLimitFields } from './key-limit-fields.tsx'
import { draftOf, limitErrors, limitFields, limitsInput, type LimitsDraft } from './key-limits.ts'
import { useOwnErrors } from '../use-own-errors.ts'

const never = ''
const other = 'other'
const lives = [
  { value: never, label: 'Never' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: other, label: 'Custom' },
]
const daysMax = 3650
const usual = keyPresets[1]!

/** Asks for name, scopes and limits of a new key. Puts the created key into `useIssuedKey`. */
export function CreateKeyForm({ onCancel }: { onCancel: () => void }) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<KeyScope[]>(usual.scopes)
  const [life, setLife] = useState(usual.days)
  const [otherDays, setOtherDays] = useState('')
  const [limits, setLimits] = useState(draftOf())
  const create = useMutation({
    mutationFn: (wanted: typeof input) => client.keys.create(wanted),
    onSuccess: (created) => {
      setIssuedKey({ created })
      void queryClient.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const { form, own, accept, clear } = useOwnErrors(create.error)
  const { fields, rest } = fieldErrors(create.error, ['name', 'scopes', 'expiresInDays', ...limitFields])
  const errorOf = (field: string) => own[field] ?? fields[field]
  const days = life === never ? undefined : Number(life === other ? otherDays : life)
  const input = { name: name.trim(), scopes, ...(days !== undefined && { expiresInDays: days }), ...given(limits) }

  const preset = keyPresets.find((one) => one.days === life && hasSame(one.scopes, scopes))
  const choose = (label: string) => {
    const chosen = keyPresets.find((one) => one.label === label)!
    setScopes(chosen.scopes)
    setLife(chosen.days)
    clear(['scopes', 'expiresInDays'])
  }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const errors = {
      ...(input.name === '' && { name: 'Enter a name' }),
      ...(scopes.length === 0 && { scopes: 'Select at least one scope' }),
      ...limitErrors(limits),
      ...(days !== undefined && !isDays(days) && { expiresInDays: `Enter a whole number from 1 to ${daysMax}` }),
    }
    create.reset()
    if (accept(errors)) create.mutate(input)
  }

  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && <ErrorNotice title="Could not create the API key" error={create.error} />}
        <TextInput
          label="Name"
          description="For example, the name of the program that uses the key."
          maxLength={100}
          autoComplete="off"
          data-autofocus
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value)
            clear(['name'])
          }}
          error={errorOf('name')}
        />
        <Radio.Group
          label="Preset"
          description="Sets the scopes and the expiry below, which you can edit."
          value={preset?.label ?? ''}
          onChange={choose}
        >
          <Stack gap="xs" mt="xs">
            {keyPresets.map(({ label }) => (
              <Radio key={label} value={label} label={label} />
            ))}
          </Stack>
        </Radio.Group>
        <Checkbox.Group
          label="Scopes"
          description="Select only the scopes that the program needs."
          value={scopes}
          onChange={(values) => {
            setScopes(values as KeyScope[])
            clear(['scopes'])
          }}
          error={errorOf('scopes')}
        >
          <Stack gap="xs" mt="xs">
            {scopeTexts.map(({ scope, label, text }) => (
              <Checkbox key={scope} value={scope} label={label} description={text} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group align="flex-start" grow>
          <NativeSelect
            label="Expires"
            data={lives}
            value={life}
            onChange={(event) => setLife(event.currentTarget.value)}
          />
          {life === other && (
            <TextInput
              label="Days"
              inputMode="numeric"
              autoComplete="off"
              value={otherDays}
              onChange={(event) => {
                setOtherDays(event.currentTarget.value)
                clear(['expiresInDays'])
              }}
              error={errorOf('expiresInDays')}
            />
          )}
        </Group>
        {life !== other && errorOf('expiresInDays') && <Text c="red">{errorOf('expiresInDays')}</Text>}
        <Disclosure label="Limits" mustBeOpen={limitFields.some((field) => errorOf(field) !== undefined)}>
          {() => (
            <Stack gap="md">
              <KeyLimitFields
                draft={limits}
                errorOf={errorOf}
                onChange={(next) => {
                  setLimits(next)
                  clear(limitFields)
                }}
              />
            </Stack>
          )}
        </Disclosure>
        <FoldedSnippets
          request={{ method: 'POST', path: '/api/keys', body: input }}
          call={{ method: 'keys.create', input, result: 'created' }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create API key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function given(draft: LimitsDraft) {
  const { agents, executionsPerMinute, limitReset, limitUsd } = limitsInput(draft)
  return {
    ...(limitUsd !== null && { limitUsd, limitReset: limitReset ?? 'never' }),
    ...(executionsPerMinute !== null && { executionsPerMinute }),
    ...(agents && { agents }),
  }
}

function hasSame(one: readonly KeyScope[], other: readonly KeyScope[]): boolean {
  return one.length === other.length && one.every((scope) => other.includes(scope))
}

function isDays(days: number): boolean {
  return Number.isInteger(days) && days >= 1 && days <= daysMax
}
