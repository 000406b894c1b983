import { Button, Group, Text } from '@mantine/core'
import type { MouseEvent } from 'react'

type PagerProps = {
  total: number
  limit: number
  offset: number
  onChange: (offset: number) => void
  what: string
}

const count = new Intl.NumberFormat('en')

/** Page controls for a list that the server paginates. Shows only the count if there is just one page. */
export function Pager({ total, limit, offset, onChange, what }: PagerProps) {
  const last = Math.min(offset + limit, total)
  const range =
    total === 0
      ? `No ${what}`
      : `${count.format(Math.min(offset + 1, total))}–${count.format(last)} of ${count.format(total)}`
  return (
    <Group component="nav" aria-label={`Pages of ${what}`} justify="space-between" mt="sm" gap="xs">
      <Text size="sm" c="dimmed" className="tabular" aria-live="polite">
        {range}
      </Text>
      {(total > limit || offset > 0) && (
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            disabled={offset === 0}
            onClick={(event) => {
              onChange(Math.max(0, offset - limit))
              scrollToStart(event)
            }}
          >
            Previous
          </Button>
          <Button
            size="xs"
            variant="default"
            disabled={last >= total}
            onClick={(event) => {
              onChange(offset + limit)
              scrollToStart(event)
            }}
          >
            Next
          </Button>
        </Group>
      )}
    </Group>
  )
}

/** Scrolls up to the start of the list, whose next page replaces it. */
function scrollToStart({ currentTarget }: MouseEvent<HTMLButtonElement>): void {
  const top = currentTarget.closest('nav')?.parentElement?.getBoundingClientRect().top ?? 0
  scrollBy(0, Math.min(0, top - innerHeight / 2))
}
