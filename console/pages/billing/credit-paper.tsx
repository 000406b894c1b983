import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { Account, Transaction } from '../../../client/client.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Money } from '../../parts/text/money.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { withUsdTexts } from '../../parts/text/usd-text.ts'
import { SellerLines } from './seller-lines.tsx'
import classes from './receipt.module.css'
import { transactionTypes } from './transaction-type.tsx'

/** Receipt of a transaction without a task or turn: a credit, a refund or dispute of a top-up, or an adjustment. */
export function CreditPaper({ account, transaction }: { account: Account | undefined; transaction: Transaction }) {
  const { amountUsd, balanceAfterUsd, createdAt, description, id, topupId, type } = transaction
  return (
    <Paper withBorder p={{ base: 'md', sm: 'xl' }} className={classes.paper}>
      <Stack gap="lg">
        <div>
          <Title order={2}>{withUsdTexts(description)}</Title>
          <Text c="dimmed" mt={2}>
            <TimeText at={createdAt} isExact />
          </Text>
        </div>
        <KeyValueList
          rows={[
            ['Receipt number', <CopyText key="number" value={id} what="receipt number" />],
            ['Seller', <SellerLines key="seller" />],
            ['Account', account?.email],
            ['Top-up', topupId !== undefined && <CopyText value={topupId} what="top-up ID" />],
          ]}
        />
        <Group justify="space-between">
          <Text fw={600}>{transactionTypes[type].label}</Text>
          <Money usd={amountUsd} fw={600} withPlus isExact />
        </Group>
        <Group justify="space-between">
          <Text c="dimmed">Balance after</Text>
          <Money usd={balanceAfterUsd} isExact />
        </Group>
      </Stack>
    </Paper>
  )
}
