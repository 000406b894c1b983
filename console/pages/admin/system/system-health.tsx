import { Alert, Group, Stack, Text, Title } from '@mantine/core'
import { CheckCircledIcon, CrossCircledIcon, ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { System } from '../../../../client/client.ts'
import classes from '../admin.module.css'
import { findProblems, type Problem } from './system-problems.ts'

export function SystemHealth({ system }: { system: System }) {
  const problems = findProblems(system)
  const isSerious = problems.some((problem) => problem.isSerious)
  const [color, Icon] =
    problems.length === 0
      ? (['green', CheckCircledIcon] as const)
      : isSerious
        ? (['red', CrossCircledIcon] as const)
        : (['yellow', ExclamationTriangleIcon] as const)
  return (
    <Alert color={color} variant="light" icon={<Icon aria-hidden />} role="status" title={titleOf(problems)}>
      {problems.length > 0 && (
        <Stack gap="md" mt={4}>
          {problems.map((problem) => (
            <div key={problem.title} className={classes.problem} data-serious={problem.isSerious || undefined}>
              <Group gap={6}>
                <Title order={2} fz="md">
                  {problem.isSerious ? 'Problem' : 'Warning'}: {problem.title}
                </Title>
              </Group>
              <Text>{problem.whatToDo}</Text>
            </div>
          ))}
        </Stack>
      )}
    </Alert>
  )
}

function titleOf(problems: readonly Problem[]): string {
  if (problems.length === 0) return 'No issues found'
  return problems.length === 1 ? '1 issue needs attention' : `${problems.length} issues need attention`
}
