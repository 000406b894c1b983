import { Button, Stack } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { brand } from '../../../app/read-brand.ts'
import { client } from '../../../app/api-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { ClientTokens } from './client-tokens.tsx'
import { KeyDialog, type KeyRequest } from './key-dialog.tsx'
import { EndedKeys, LiveKeys } from './key-tables.tsx'

const limit = 50

export function KeysPage() {
  const [offset, setOffset] = useOffset()
  const [endedText, setEndedText] = useSearchField('ended')
  const endedOffset = /^\d{1,9}$/.test(endedText) ? Number(endedText) : 0
  const [request, setRequest] = useState<KeyRequest>()
  const [isOpen, setOpen] = useState(false)
  const live = useKeys({ state: 'live', limit, offset })
  const ended = useKeys({ state: 'ended', limit, offset: endedOffset })
  const all = [...(live.data?.keys ?? []), ...(ended.data?.keys ?? [])]
  const ask = (next: KeyRequest) => {
    setRequest(next)
    setOpen(true)
  }
  const createButton = (
    <Button leftSection={<PlusIcon aria-hidden />} onClick={() => ask({ kind: 'create' })}>
      Create API key
    </Button>
  )
  const path = `/api/keys?state=live&limit=${limit}${offset === 0 ? '' : `&offset=${offset}`}`
  return (
    <>
      <PageHeader
        title="API keys"
        description={`Use API keys to call ${brand.name} from your code. Scopes limit what a key can do.`}
        actions={createButton}
      />
      <Stack gap="lg">
        <QueryState
          query={live}
          isEmpty={({ total }) => total === 0 && ended.data?.total === 0}
          empty={
            <EmptyState title="No API keys yet" action={createButton}>
              Create an API key to run tasks and chats from your code or the command line.
            </EmptyState>
          }
        >
          {({ keys, total }) => (
            <div>
              <LiveKeys
                keys={keys}
                all={all}
                onLimit={(of) => ask({ kind: 'limit', of })}
                onRotate={(of) => ask({ kind: 'rotate', of })}
              />
              <Pager what="keys" total={total} limit={limit} offset={offset} onChange={setOffset} />
            </div>
          )}
        </QueryState>
        <QueryState query={ended} skeleton={null}>
          {({ keys, total }) =>
            total > 0 && (
              <div>
                <EndedKeys keys={keys} all={all} />
                <Pager
                  what="revoked and expired keys"
                  total={total}
                  limit={limit}
                  offset={endedOffset}
                  onChange={(next) => setEndedText(next === 0 ? '' : String(next))}
                />
              </div>
            )
          }
        </QueryState>
        <ClientTokens />
        <PageCode>
          <Snippets
            request={{ method: 'GET', path }}
            call={{
              method: 'keys.list',
              input: { state: 'live', limit, ...(offset > 0 && { offset }) },
              result: 'page',
            }}
          />
        </PageCode>
      </Stack>
      <KeyDialog request={request} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}

function useKeys(input: { state: 'live' | 'ended'; limit: number; offset: number }) {
  return useQuery({
    queryKey: ['keys', input],
    queryFn: ({ signal }) => client.keys.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
}
