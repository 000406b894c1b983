import { Button, Group, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { CreditPaper } from './credit-paper.tsx'
import { ReceiptPaper } from './receipt-paper.tsx'
import { readReceipt, receiptJson } from './receipt.ts'
import classes from './receipt.module.css'

/** Refetch interval of a receipt whose task may still be refunded. */
const unsettledMs = 4000

type Subject = { taskId: string } | { turnId: string } | { transactionId: string }

export function ReceiptPage() {
  const [taskId] = useSearchField('taskId')
  const [turnId] = useSearchField('turnId')
  const [transactionId] = useSearchField('transactionId')
  const subject = taskId ? { taskId } : turnId ? { turnId } : transactionId ? { transactionId } : undefined
  return subject ? (
    <ReceiptOf key={taskId || turnId || transactionId} subject={subject} />
  ) : (
    <>
      <PageHeader title="Receipt" back={{ href: '/billing', label: 'Billing' }} />
      <NoReceipt title="No receipt selected">Open a receipt from the transactions in Billing.</NoReceipt>
    </>
  )
}

function ReceiptOf({ subject }: { subject: Subject }) {
  const account = useAccount()
  const taskId = 'taskId' in subject ? subject.taskId : undefined
  const task = useQuery({
    queryKey: ['task', taskId],
    queryFn: ({ signal }) => client.tasks.get({ taskId: taskId! }, { signal }),
    enabled: taskId !== undefined,
    refetchInterval: ({ state }) => (isUnderWay(state.data?.status) ? unsettledMs : false),
  })
  const query = useQuery({
    queryKey: ['transactions', subject],
    queryFn: ({ signal }) => client.transactions.list(subject, { signal }),
    // A failed task always has a refund. Refetch if the transactions were loaded just before the failure.
    refetchInterval: ({ state }) => {
      const status = task.data?.status
      return isUnderWay(status) || (status === 'failed' && state.data?.transactions.length === 1) ? unsettledMs : false
    },
  })
  const receipt = query.data && readReceipt(query.data.transactions, task.data)
  const credit = 'transactionId' in subject ? query.data?.transactions[0] : undefined
  const json = receipt ? receiptJson(receipt, account.data?.email) : credit && `${JSON.stringify(credit, null, 2)}\n`
  const search = new URLSearchParams(subject)
  return (
    <div className={classes.page}>
      <div className={classes.screen}>
        <PageHeader
          title="Receipt"
          back={{ href: '/billing', label: 'Billing' }}
          actions={
            json !== undefined && (
              <>
                <Button size="xs" variant="default" onClick={() => print()}>
                  Print
                </Button>
                <DownloadButton
                  label="Download JSON"
                  fileName={`errand-receipt-${[...search.values()].join('')}.json`}
                  content={json}
                />
              </>
            )
          }
        />
      </div>
      <Stack gap="lg">
        <QueryState
          query={query}
          isEmpty={() => json === undefined}
          empty={
            <NoReceipt title="Receipt not found">
              {'turnId' in subject
                ? 'This chat turn has no charge in your account. It may be in progress or have failed at no cost.'
                : 'Your account has no such charge. Check the URL.'}
            </NoReceipt>
          }
          skeleton={<Skeleton height={420} />}
        >
          {() =>
            receipt ? (
              <ReceiptPaper receipt={receipt} task={task.data} account={account.data} />
            ) : (
              credit && <CreditPaper transaction={credit} account={account.data} />
            )
          }
        </QueryState>
        {json !== undefined && (
          <PageCode>
            <Snippets
              request={{ method: 'GET', path: `/api/transactions?${search}` }}
              call={{ method: 'transactions.list', input: subject, result: 'page' }}
            />
          </PageCode>
        )}
      </Stack>
    </div>
  )
}

function isUnderWay(status: string | undefined): boolean {
  return status === 'pending' || status === 'processing'
}

function NoReceipt({ title, children }: { title: string; children: string }) {
  return (
    <EmptyState
      title={title}
      action={
        <Group>
          <Button component={RouterLink} href="/billing" variant="default">
            Go to billing
          </Button>
        </Group>
      }
    >
      {children}
    </EmptyState>
  )
}
