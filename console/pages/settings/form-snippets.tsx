import { Box, Collapse, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDownIcon, ChevronRightIcon } from '@radix-ui/react-icons'
import { useId, type ComponentProps } from 'react'
import { Snippets } from '../../parts/snippets.tsx'
import classes from './settings.module.css'

/** What a form is about to send, from code; folded away until somebody asks. */
export function FormSnippets(props: ComponentProps<typeof Snippets>) {
  const [isOpen, { toggle }] = useDisclosure()
  const id = useId()
  const Icon = isOpen ? ChevronDownIcon : ChevronRightIcon
  return (
    <Box>
      <UnstyledButton className={classes.disclosure} aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
        <Icon aria-hidden />
        The same from code
      </UnstyledButton>
      <Collapse in={isOpen} id={id} mt="xs">
        {isOpen && <Snippets {...props} />}
      </Collapse>
    </Box>
  )
}
