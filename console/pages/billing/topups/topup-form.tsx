import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { newIdempotencyKey, type Account } from '../../../../client/client.ts'
import { formatUsd, parseUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { useOwnErrors } from '../../settings/use-own-errors.ts'

export type Payments = NonNullable<Account['payments']>

const presets = [10, 25, 50, 100]

export function TopupForm({ payments: { maxUsd, minUsd } }: { payments: Payments }) {
  const [amount, setAmount] = useState('')
  const [savesMethod, setSaves] = useState(false)
  // The key changes only with the amount, so that submitting the same amount again creates only one top-up.
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const pay = useMutation({
    mutationFn: () => client.topups.create({ amountUsd: amount.trim(), savesMethod }, { idempotencyKey }),
    onSuccess: ({ checkoutUrl }) => {
      if (checkoutUrl !== null) location.assign(checkoutUrl)
    },
  })
  const { form, own, accept, clear } = useOwnErrors(pay.error)
  const { fields, rest } = fieldErrors(pay.error, ['amountUsd'])
  const error = own['amountUsd'] ?? fields['amountUsd']
  const units = parseUsd(amount.trim())
  const change = (next: () => void) => {
    next()
    setKey(newIdempotencyKey())
    clear(['amountUsd'])
    pay.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (accept(units !== undefined ? {} : { amountUsd: 'Enter an amount in USD' }) && !pay.isPending) pay.mutate()
  }
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label="Add credit">
      <Stack gap="sm">
        <Group gap="xs">
          {presets
            .filter((usd) => usd >= Number(minUsd) && usd <= Number(maxUsd))
            .map((usd) => (
              <Button
                key={usd}
                size="xs"
                variant={amount === String(usd) ? 'light' : 'default'}
                aria-pressed={amount === String(usd)}
                onClick={() => change(() => setAmount(String(usd)))}
              >
                ${usd}
              </Button>
            ))}
        </Group>
        <TextInput
          label="Amount in USD"
          inputMode="decimal"
          autoComplete="off"
          leftSection="$"
          maxLength={20}
          styles={{ wrapper: { maxWidth: 168 } }}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={amount}
          onChange={(event) => {
            const { value } = event.currentTarget
            change(() => setAmount(value))
          }}
          // The error replaces the description and has the same height, so that the button stays in place.
          errorProps={{ fz: 'sm', lh: 1.45 }}
          {...(error === undefined ? { description: `Between ${usdText(minUsd)} and ${usdText(maxUsd)}` } : { error })}
        />
        <Checkbox
          label="Save payment method"
          description="Required for auto-recharge"
          checked={savesMethod}
          onChange={(event) => {
            const { checked } = event.currentTarget
            change(() => setSaves(checked))
          }}
        />
        <Text size="sm" c="dimmed">
          You pay on Stripe, so this service never receives your card number.
        </Text>
        {/* Show the loading state until the browser has left the page. */}
        <Button type="submit" loading={pay.isPending || pay.isSuccess} w="fit-content">
          {units ? `Pay ${usdText(formatUsd(units))}` : 'Continue to payment'}
        </Button>
        {rest && <ErrorNotice title="Could not open the payment page" error={pay.error} />}
      </Stack>
    </form>
  )
}
