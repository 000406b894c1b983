import { Button, Group, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Account } from '../../../../client/client.ts'
import { parseUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { useOwnErrors } from '../../settings/use-own-errors.ts'
import type { Payments } from './topup-form.tsx'

const amounts = [
  { name: 'belowUsd', label: 'When the balance falls below', placeholder: '5.00' },
  { name: 'toUsd', label: 'Top up to', placeholder: '25.00' },
  { name: 'monthlyMaxUsd', label: 'Monthly maximum', placeholder: '100.00' },
] as const
type Amounts = Record<(typeof amounts)[number]['name'], string>

function useUpdate(done: string) {
  return useMutation({
    mutationFn: (input: Parameters<typeof client.account.update>[0]) => client.account.update(input),
    onSuccess: (account) => {
      queryClient.setQueryData(accountKey, account)
      notifyDone(done)
    },
  })
}

export function NotifyForm({ account }: { account: Account }) {
  const [amount, setAmount] = useState(short(account.notifyBelowUsd))
  const save = useUpdate('Threshold saved.')
  const { form, own, accept, clear } = useOwnErrors(save.error)
  const { fields, rest } = fieldErrors(save.error, ['notifyBelowUsd'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const text = amount.trim()
    const isFine = text === '' || parseUsd(text) !== undefined
    if (accept(isFine ? {} : { notifyBelowUsd: 'Enter an amount in USD, or leave this field empty' }))
      save.mutate({ notifyBelowUsd: text === '' ? null : text })
  }
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label="Low balance">
      <Stack gap="sm">
        {rest && <ErrorNotice title="Could not save the threshold" error={save.error} />}
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Notify me when my balance falls below"
            description="Shows a banner and sends the webhook event balance.low. Leave empty to turn off."
            inputMode="decimal"
            autoComplete="off"
            leftSection="$"
            maxLength={20}
            value={amount}
            onChange={(event) => {
              setAmount(event.currentTarget.value)
              clear(['notifyBelowUsd'])
            }}
            error={own['notifyBelowUsd'] ?? fields['notifyBelowUsd']}
          />
          <Button type="submit" variant="default" loading={save.isPending}>
            Save threshold
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

export function RechargeForm({ payments }: { payments: Payments }) {
  const { autoRecharge, autoRechargeOffReason, maxUsd, rechargeMonthlyMaxUsd, savedMethod } = payments
  const [isOn, setOn] = useState(autoRecharge !== null)
  const [draft, setDraft] = useState<Amounts>({
    belowUsd: short(autoRecharge?.belowUsd),
    toUsd: short(autoRecharge?.toUsd),
    monthlyMaxUsd: short(autoRecharge?.monthlyMaxUsd),
  })
  const save = useUpdate('Auto-recharge saved.')
  const { form, own, accept, clear } = useOwnErrors(save.error)
  const { fields, rest } = fieldErrors(
    save.error,
    amounts.map(({ name }) => `autoRecharge.${name}`),
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const wrong = isOn ? amounts.filter(({ name }) => parseUsd(draft[name].trim()) === undefined) : []
    const errors = Object.fromEntries(wrong.map(({ name }) => [name, 'Enter an amount in USD']))
    if (accept(errors)) save.mutate({ autoRecharge: isOn ? draft : null })
  }
  if (savedMethod === null) {
    return <Text>No saved payment method. To use auto-recharge, select “Save payment method” when you add credit.</Text>
  }
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="sm">
        <Text>
          Saved:{' '}
          <Text component="span" inherit fw={500}>
            {savedMethod}
          </Text>
        </Text>
        <RemoveMethod savedMethod={savedMethod} />
      </Group>
      <form ref={form} onSubmit={submit} noValidate aria-label="Auto-recharge">
        <Stack gap="sm">
          {autoRechargeOffReason !== null && (
            <Text c="red">Auto-recharge was turned off because of a payment problem: {autoRechargeOffReason}.</Text>
          )}
          {rest && <ErrorNotice title="Could not save auto-recharge" error={save.error} />}
          <Switch
            label="Enable auto-recharge"
            checked={isOn}
            onChange={(event) => setOn(event.currentTarget.checked)}
          />
          {isOn && (
            <Group align="flex-start" gap="sm">
              {amounts.map(({ label, name, placeholder }) => (
                <TextInput
                  key={name}
                  label={label}
                  placeholder={placeholder}
                  inputMode="decimal"
                  autoComplete="off"
                  leftSection="$"
                  maxLength={20}
                  w={{ base: '100%', xs: 160 }}
                  value={draft[name]}
                  onChange={(event) => {
                    setDraft({ ...draft, [name]: event.currentTarget.value })
                    clear([name])
                  }}
                  error={own[name] ?? fields[`autoRecharge.${name}`]}
                />
              ))}
            </Group>
          )}
          {isOn && (
            <Text size="sm" c="dimmed">
              Auto-recharge can raise your balance to at most ${short(maxUsd)}, and add at most $
              {short(rechargeMonthlyMaxUsd)} per month. Payments are at least 10 minutes apart.
            </Text>
          )}
          <Group>
            <Button type="submit" variant="default" loading={save.isPending}>
              Save auto-recharge
            </Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  )
}

function RemoveMethod({ savedMethod }: { savedMethod: string }) {
  const remove = useMutation({
    mutationFn: () => client.topups.removeMethod(),
    onSuccess: () => {
      notifyDone(`${savedMethod} removed.`)
      void queryClient.invalidateQueries({ queryKey: accountKey })
    },
  })
  return (
    <ConfirmButton
      label="Remove"
      title={`Remove ${savedMethod}?`}
      confirmLabel="Remove"
      onConfirm={() => remove.mutateAsync()}
    >
      This turns off auto-recharge. You can save a payment method again with your next payment.
    </ConfirmButton>
  )
}

function short(usd: string | null | undefined): string {
  return usd?.replace(/(\.\d\d)00$/, '$1') ?? ''
}
