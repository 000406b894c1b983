import { NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { Disclosure } from '../../parts/disclosure.tsx'
import { TagsField, tagsOf } from '../../parts/tags-field.tsx'

export type RunOptionsDraft = { maxCostUsd: string; expiresInSeconds: string; timeoutSeconds: string; tags: string[] }

export const noOptions: RunOptionsDraft = { maxCostUsd: '', expiresInSeconds: '', timeoutSeconds: '', tags: [] }

export const optionFields = ['maxCostUsd', 'expiresInSeconds', 'timeoutSeconds', 'tags'] as const

const tagsMax = 16
const waits = [
  { value: '', label: 'No limit' },
  { value: '60', label: '1 minute' },
  { value: '600', label: '10 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
]

/** Converts the options for the request and omits empty ones. The service validates them. */
export function toOptions({ expiresInSeconds, maxCostUsd, tags, timeoutSeconds }: RunOptionsDraft) {
  const cap = maxCostUsd.trim()
  return {
    ...(cap !== '' && { maxCostUsd: cap }),
    ...(expiresInSeconds !== '' && { expiresInSeconds: Number(expiresInSeconds) }),
    ...(timeoutSeconds.trim() !== '' && { timeoutSeconds: Number(timeoutSeconds) }),
    ...(tags.length > 0 && { tags: tagsOf(tags) }),
  }
}

type RunOptionsProps = {
  value: RunOptionsDraft
  onChange: (value: RunOptionsDraft) => void
  errors: Partial<Record<(typeof optionFields)[number], string>>
  timeoutSeconds: number
}

export function RunOptions({ errors, onChange, timeoutSeconds, value }: RunOptionsProps) {
  const set = (changes: Partial<RunOptionsDraft>) => onChange({ ...value, ...changes })
  return (
    <Disclosure label="Options" mustBeOpen={Object.keys(errors).length > 0}>
      {() => (
        <Stack gap="md">
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label="Cap in USD"
              description="The task is rejected if it would cost more."
              placeholder="No cap"
              inputMode="decimal"
              autoComplete="off"
              value={value.maxCostUsd}
              onChange={(event) => set({ maxCostUsd: event.currentTarget.value })}
              error={errors.maxCostUsd}
            />
            <NativeSelect
              label="Start within"
              description="The task is refunded if it does not start in time."
              data={waits}
              value={value.expiresInSeconds}
              onChange={(event) => set({ expiresInSeconds: event.currentTarget.value })}
              error={errors.expiresInSeconds}
            />
            <TextInput
              label="Timeout in seconds"
              description="The task fails and is refunded if it runs longer."
              placeholder={String(timeoutSeconds)}
              inputMode="decimal"
              autoComplete="off"
              value={value.timeoutSeconds}
              onChange={(event) => set({ timeoutSeconds: event.currentTarget.value })}
              error={errors.timeoutSeconds}
            />
          </SimpleGrid>
          <TagsField
            label="Tags"
            description="Name:value pairs for finding the task later, such as order:1234. Press Enter after each tag."
            value={value.tags}
            onChange={(tags) => set({ tags })}
            maxTags={tagsMax}
            error={errors.tags}
          />
        </Stack>
      )}
    </Disclosure>
  )
}
