import { Alert, Box, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { InfoCircledIcon } from '@radix-ui/react-icons'
import type { Account, Task, Transaction } from '../../../client/client.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { taskLook } from '../tasks/task-state.ts'
import { ReceiptLines } from './receipt-lines.tsx'
import type { Receipt } from './receipt.ts'
import { SellerLines } from './seller-lines.tsx'
import classes from './receipt.module.css'
import { transactionTypes } from './transaction-type.tsx'
import { usdText } from '../../parts/text/usd-text.ts'

type ReceiptPaperProps = { receipt: Receipt; task: Task | undefined; account: Account | undefined }

export function ReceiptPaper({ receipt, task, account }: ReceiptPaperProps) {
  const { balanceAfterUsd, charge, chat, isEstimated, model, refund, returned } = receipt
  const { sessionId, taskId, turnId } = charge
  return (
    <Paper withBorder p={{ base: 'md', sm: 'xl' }} className={classes.paper}>
      <Stack gap="lg">
        <Group justify="space-between" align="flex-start">
          <Box miw={0}>
            <Title order={2}>{charge.description}</Title>
            <Text c="dimmed" mt={2}>
              <TimeText at={charge.createdAt} isExact />
            </Text>
          </Box>
          {task && <StatusBadge status={taskLook(task.status, task.error?.code)} />}
        </Group>
        <KeyValueList
          rows={[
            ['Receipt number', <CopyText key="number" value={charge.id} what="receipt number" />],
            ['Seller', <SellerLines key="seller" />],
            ['Account', account?.email],
            [
              'Task',
              taskId !== undefined && <IdLink id={taskId} href={`/tasks/${taskId}`} what="task ID" label="Open task" />,
            ],
            ['Endpoint', task?.endpointId],
            [
              'Session ID',
              sessionId !== undefined && (
                <IdLink id={sessionId} href={`/chat/${sessionId}`} what="session ID" label="Open chat" />
              ),
            ],
            ['Chat turn', turnId !== undefined && <CopyText value={turnId} what="turn ID" />],
            ['Model', model],
            [
              'Failure reason',
              task?.error &&
                taskLook(task.status, task.error.code) === 'failed' &&
                `${task.error.code}: ${task.error.message}`,
            ],
          ]}
        />
        <ReceiptLines receipt={receipt} />
        {isEstimated && (
          <Text size="sm" c="dimmed">
            Token counts are estimates, because the agent or its model did not report all of them.
          </Text>
        )}
        {chat && !chat.addsUp && (
          <Alert
            color="red"
            variant="light"
            title="The items do not add up to the charge"
            icon={<InfoCircledIcon aria-hidden />}
          >
            They add up to {usdText(chat.costUsd)}, but {usdText(chat.chargedUsd)} was charged. Report this with the IDs
            above.
          </Alert>
        )}
        <Stack gap="sm">
          <Title order={3}>Transactions</Title>
          <TransactionEntry transaction={charge} />
          {refund && <TransactionEntry transaction={refund} />}
          {returned && <TransactionEntry transaction={returned} />}
        </Stack>
        <Group justify="space-between">
          <Text c="dimmed">Balance after {refund ? 'the refund' : 'the charge'}</Text>
          <Money usd={balanceAfterUsd} fw={600} isExact />
        </Group>
      </Stack>
    </Paper>
  )
}

type IdLinkProps = { id: string; href: string; what: string; label: string }

function IdLink({ id, href, what, label }: IdLinkProps) {
  return (
    <Group gap="sm">
      <CopyText value={id} what={what} />
      <PageLink href={href} className={classes.screen}>
        {label}
      </PageLink>
    </Group>
  )
}

function TransactionEntry({ transaction }: { transaction: Transaction }) {
  const { amountUsd, balanceAfterUsd, createdAt, id, type } = transaction
  return (
    <Box>
      <Group justify="space-between" gap="xs">
        <Text>
          {transactionTypes[type].label}, <TimeText at={createdAt} isExact />
        </Text>
        <Text className="tabular">
          <Money usd={amountUsd} withPlus isExact />
          <Text component="span" inherit c="dimmed">
            {' '}
            (balance after: <Money usd={balanceAfterUsd} isExact />)
          </Text>
        </Text>
      </Group>
      <CopyText value={id} what={`${transactionTypes[type].label.toLowerCase()} ID`} />
    </Box>
  )
}
