import { Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import type { client } from '../../../app/api-client.ts'
import { parseUsd } from '../../../../server/kernel/money.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { useOwnErrors } from '../../settings/use-own-errors.ts'
import { platformScopeTexts, type PlatformScope } from './platform-key-scopes.ts'

export type PlatformKeyInput = Parameters<typeof client.platformKeys.create>[0]

type PlatformKeyFormProps = {
  error: unknown
  isPending: boolean
  onCancel: () => void
  onSubmit: (input: PlatformKeyInput) => void
}

const never = 'never'
const lives = [
  { value: never, label: 'Never' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
]
const names = ['name', 'scopes', 'addresses', 'creditPerDayUsd', 'expiresInDays']

export function PlatformKeyForm({ error, isPending, onCancel, onSubmit }: PlatformKeyFormProps) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<PlatformScope[]>([])
  const [addressText, setAddressText] = useState('')
  const [creditLimit, setCreditLimit] = useState('')
  const [life, setLife] = useState(never)
  const { form, own, accept, clear } = useOwnErrors(error)
  const { fields, rest } = fieldErrors(error, names)
  const addresses = addressText.split(/[\s,]+/).filter((address) => address !== '')
  const hasCredit = scopes.includes('credit')
  const creditPerDayUsd = creditLimit.trim()
  const input: PlatformKeyInput = {
    name: name.trim(),
    scopes,
    ...(addresses.length > 0 && { addresses }),
    ...(hasCredit && creditPerDayUsd !== '' && { creditPerDayUsd }),
    ...(life !== never && { expiresInDays: Number(life) }),
  }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const units = creditPerDayUsd === '' ? 0 : parseUsd(creditPerDayUsd)
    const errors = {
      ...(input.name === '' && { name: 'Enter a name' }),
      ...(scopes.length === 0 && { scopes: 'Select at least one scope' }),
      ...(hasCredit &&
        (units === undefined || units < 0) && {
          creditPerDayUsd: 'Enter an amount in USD with at most four decimal places, or leave this field empty',
        }),
    }
    if (accept(errors) && !isPending) onSubmit(input)
  }

  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && <ErrorNotice title="Could not create the platform key" error={error} />}
        <TextInput
          label="Name"
          description="For example, the name of the product that uses the key."
          maxLength={100}
          autoComplete="off"
          data-autofocus
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value)
            clear(['name'])
          }}
          error={own['name'] ?? fields['name']}
        />
        <Checkbox.Group
          label="Scopes"
          description="Select only the scopes that the product needs."
          value={scopes}
          onChange={(values) => {
            setScopes(values as PlatformScope[])
            clear(['scopes'])
          }}
          error={own['scopes'] ?? fields['scopes']}
        >
          <Stack gap="xs" mt="xs">
            {platformScopeTexts.map(({ scope, label, text }) => (
              <Checkbox key={scope} value={scope} label={label} description={text} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Textarea
          label="Allowed IP addresses"
          description="IP addresses and networks of your servers, such as 203.0.113.7 or 2001:db8::/32. Leave empty to allow any."
          autosize
          minRows={1}
          autoComplete="off"
          spellCheck={false}
          value={addressText}
          onChange={(event) => {
            setAddressText(event.currentTarget.value)
            clear(['addresses'])
          }}
          error={fields['addresses']}
        />
        {hasCredit && (
          <TextInput
            label="Credit limit per day in USD"
            description="Maximum credit that the key can grant per UTC day. The same limit applies separately to credit it takes back. Leave empty for no limit."
            inputMode="decimal"
            autoComplete="off"
            leftSection="$"
            maxLength={20}
            value={creditLimit}
            onChange={(event) => {
              setCreditLimit(event.currentTarget.value)
              clear(['creditPerDayUsd'])
            }}
            error={own['creditPerDayUsd'] ?? fields['creditPerDayUsd']}
          />
        )}
        <NativeSelect
          label="Expires"
          data={lives}
          value={life}
          onChange={(event) => setLife(event.currentTarget.value)}
          error={fields['expiresInDays']}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending}>
            Create platform key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
