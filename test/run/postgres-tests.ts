/** Tests that run on PostgreSQL, as paths from the root of the checkout. */
export const postgresTests = {
  /** Tests only for PostgreSQL. */
  only: ['test/store/postgres-*.test.ts', 'test/nodes/*.test.ts'],
  /** Tests of the service, which also run on SQLite. */
  too: [
    'test/{api,chat,connectors,login,mcp,openai,property,runner,sign-ins,webhooks}/*.test.ts',
    'test/models/model-tasks.test.ts',
  ],
  /** Exceptions that another engine would not affect, with the reason. */
  never: {
    // SQLite itself is tested.
    'test/**/sqlite-*.test.ts': 'files of SQLite',
    'test/runner/bad-starts.test.ts':
      'the data directory, port, configuration and limits of a machine; nodes have tests of their secret',
    'test/runner/cli-backup.test.ts': "copies of SQLite's file; PostgreSQL has its own tools",
    'test/runner/cli-secret.test.ts': 'the secret that a data directory keeps; nodes are given theirs',
    'test/runner/cli-completion.test.ts': 'scripts for shells',
    'test/runner/cli-usage.test.ts': 'words of the command line, and a data directory that is made or missing',
    'test/runner/data-directory-owner.test.ts': 'the lock of a data directory',
    'test/runner/failed-start.test.ts': 'a start that waits for what a crash left; nodes settle it as they run',
    'test/runner/sync-before-answer.test.ts': "the sync of SQLite's log, seen in the system calls",

    // These tests never reach a store.
    'test/api/{bad-connectors,bad-payload-links,login-answers}.test.ts': 'addresses, signatures and cookies',
    'test/api/{console-files,cors,docs,login-origins,metrics-access,request-logs}.test.ts': 'headers and pages',
    'test/api/http-*.test.ts': 'methods, paths, headers and connections',
    'test/api/bad-{bodies,credentials,large-bodies,random-requests,rpc-meta,rpc-requests,rpc-superjson}.test.ts':
      'bodies and headers that are refused before a store is asked',
    'test/connectors/{answer-bounds,crossed-answers,guarded-*,host-lookup,name-tools,private-address,process-bounds,remote-connectors,secret-filter,stdio-transport,tool-answer,vault}.test.ts':
      'tools and their servers, without a service',
    'test/chat/chat-{events,faults,hardening,price,rpc}.test.ts':
      'what a reply does and what of it is sent; how it is admitted, charged and kept is in the others',
    'test/chat/file-memory.test.ts': 'what files take of the memory before a store is asked',
    'test/connectors/run-{bad-http,bad-stdio,defects,everything,limits,secrets,tool-names}.test.ts':
      'what servers of tools do wrong; tasks and chats with connectors end the same way',
    'test/login/oidc-{attacks,config,log,requests,tokens}.test.ts': 'what passes between a browser and a provider',
    'test/mcp/mcp-messages.test.ts': 'messages that are refused before a store is asked',
    'test/sign-ins/rogue-authorization.test.ts': 'what authorization servers answer wrongly',
    'test/property/broken-{fields,frames,senders}.test.ts': 'requests that are refused before a store is asked',
    'test/property/linear-{connectors,work}.test.ts': 'what reading a request or an answer costs',
    'test/runner/{agent-values,blocked-thread,http-agent-*,stubborn-runs,task-memory,thread-ends}.test.ts':
      'agents and their threads',
  },
}
