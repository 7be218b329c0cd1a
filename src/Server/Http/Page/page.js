const draws = [
  chart('chart-commands', [{ key: 'commands', class: 's1' }], count),
  chart('chart-network', [{ key: 'input', name: 'in', class: 's1' },
    { key: 'output', name: 'out', class: 's2' }], bytes),
  chart('chart-memory', [{ key: 'used', name: 'used', class: 's1' },
    { key: 'resident', name: 'resident', class: 's2' }], bytes),
  chart('chart-hits', [{ key: 'hits', class: 's1' }], percent, 100),
];

// What is drawn of one look at the server.

let before = null;
function note(status, fields) {
  const at = name => Number(fields[name]);
  const now = {
    time: status.time, total: at('total_commands_processed'), found: at('keyspace_hits'),
    missed: at('keyspace_misses'), cpu: at('used_cpu_sys') + at('used_cpu_user'), uptime: at('uptime_in_seconds'),
    commands: {},
  };
  for (const one of lines(status.info.Commandstats, 'cmdstat_')) now.commands[one.name] = Number(one.calls);
  // Counters that have gone back were reset, or the server was started again.
  const begun = before && now.time > before.time && now.total >= before.total && now.uptime >= before.uptime;
  const rate = name => begun && now[name] >= before[name]
    ? (now[name] - before[name]) * 1000 / (now.time - before.time) : null;
  const reads = begun ? now.found - before.found + now.missed - before.missed : 0;
  moments.push({
    time: now.time, commands: at('instantaneous_ops_per_sec'),
    input: 1024 * at('instantaneous_input_kbps'), output: 1024 * at('instantaneous_output_kbps'),
    used: at('used_memory'), resident: at('used_memory_rss'),
    hits: reads > 0 && now.found >= before.found ? 100 * (now.found - before.found) / reads : null,
  });
  if (moments.length > POINTS_MAX) moments.shift();
  const cpu = rate('cpu');
  byId('cpu').textContent = cpu == null ? '–' : `${Math.round(100 * cpu)} %`;
  const previous = before;
  before = now;
  return name => begun && previous.commands[name] <= now.commands[name]
    ? (now.commands[name] - previous.commands[name]) * 1000 / (now.time - previous.time) : null;
}

function showCommands(info, rateOf) {
  const latencies = new Map(lines(info.Latencystats, 'latency_percentiles_usec_').map(one => [one.name, one]));
  const rows = lines(info.Commandstats, 'cmdstat_').map(one => {
    const figures = Object.entries(latencies.get(one.name) ?? {}).filter(([name]) => name !== 'name');
    return { ...one, rate: rateOf(one.name), figures: figures.map(([name, value]) => [name, Number(value)]) };
  }).sort((a, b) => b.usec - a.usec);
  const names = rows.find(row => row.figures.length)?.figures.map(([name]) => name) ?? [];
  const all = rows.flatMap(row => row.figures.map(([, value]) => value)).filter(value => value > 0);
  const low = Math.log10(Math.min(...all, 1)), high = Math.log10(Math.max(...all, 10));
  const place = value => 100 * (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low);
  const bar = row => {
    const node = make('span', { class: 'span', 'aria-hidden': 'true' });
    const values = row.figures.map(([, value]) => place(value));
    if (values.length === 0) return node;
    const from = Math.min(...values), line = make('i');
    line.style.left = `${0.97 * from}%`;
    line.style.width = `${0.97 * (Math.max(...values) - from) + 1}%`;
    node.append(line);
    for (const value of values) {
      const mark = make('em');
      mark.style.left = `${0.97 * value}%`;
      node.append(mark);
    }
    return node;
  };
  table('table-commands', [
    column('command', row => row.name, { class: 'mono' }),
    number('calls', row => count(Number(row.calls)), { title: row => row.calls }),
    number('a second', row => row.rate == null ? '–' : count(row.rate)),
    number('mean', row => micros(Number(row.usec_per_call)), { title: row => `${row.usec_per_call} µs` }),
    column('', row => row.figures.join(), { draw: bar, class: 'bar-cell' }),
    ...names.map((name, i) => number(name, row => row.figures[i] ? micros(row.figures[i][1]) : '–',
      { title: row => row.figures[i] ? `${row.figures[i][1]} µs` : '' })),
    number('failed', row => count(Number(row.failed_calls) + Number(row.rejected_calls)),
      { title: row => `${row.failed_calls} failed, ${row.rejected_calls} refused` }),
  ], rows, 'No command was called yet.');
}

function showStack(id, fields, kinds) {
  const rows = kinds.map(([field, name, colour]) => ({ field, name, colour, value: Number(fields[field] ?? 0) }));
  const total = rows.reduce((sum, row) => sum + Math.max(0, row.value), 0);
  byId(`stack-${id}`).replaceChildren(...rows.map(row => {
    const part = make('span', { class: row.colour, title: `${row.name} ${bytes(row.value)}` });
    part.style.flexGrow = total > 0 ? Math.max(0, row.value) / total : 0;
    return part;
  }));
  byId(`stack-${id}`).setAttribute('aria-label', rows.map(row => `${row.name} ${bytes(row.value)}`).join(', '));
  byId(`legend-${id}`).replaceChildren(...rows.map(row => make('li', null, make('i', { class: row.colour }),
    make('span', null, row.name), make('b', { 'data-drawn': row.field, title: row.value }, bytes(row.value)))));
}

function showMemory(fields) {
  showStack('used', fields, [['kv_mem_log', 'records (log)', 'k1'], ['kv_mem_index', 'index', 'k2'],
    ['kv_mem_blocks', 'large values', 'k3'], ['kv_mem_clients', 'clients', 'k4'],
    ['kv_mem_feed', 'waits for disk and replicas', 'k7'], ['kv_mem_tables', 'eviction tables', 'k5'],
    ['kv_mem_managed', 'managed heap', 'k6']]);
  showStack('resident', fields, [['used_memory', 'used', 'k1'], ['kv_mem_retired', 'waits for readers', 'o1'],
    ['kv_mem_warm', 'free, kept', 'o2'], ['kv_mem_collector', 'free in the managed heap', 'o3'],
    ['kv_mem_program', 'program', 'o4']]);
  const limit = Number(fields.maxmemory);
  byId('limit').textContent = limit > 0
    ? `${percent(100 * fields.used_memory / limit)} of ${bytes(limit)}, ${fields.maxmemory_policy}` : 'no limit';
  byId('memory-state').className = `chip ${fields.kv_mem_state}`;
}

function showKeys(info) {
  const databases = Object.entries(info.Keyspace ?? {}).filter(([name]) => name.startsWith('db'))
    .map(([name, text]) => ({ name, ...pairs(text) }));
  byId('key-count').textContent = count(databases.reduce((sum, one) => sum + Number(one.keys), 0));
  table('table-keyspace', [column('database', row => row.name), number('keys', row => count(Number(row.keys))),
    number('with a time to live', row => count(Number(row.expires))),
    number('mean of those', row => span(Math.round(row.avg_ttl / 1000)))], databases, 'No keys.');
  // Names of keys: "kv_hotkey_0:db=0,key=a,percent=12.00", "kv_bigkey_list_0:db=0,key=a,bytes=1,elements=2".
  const key = column('key', row => row.key, { class: 'mono w' }), database = number('db', row => row.db);
  const none = 'None yet, or none that this user may read.';
  table('table-hotkeys', [key, database, number('reads a second', row => count(Number(row.reads_per_sec))),
    number('writes a second', row => count(Number(row.writes_per_sec))),
    number('of all uses', row => percent(row.percent))], lines(info.Hotkeys, 'kv_hotkey_'), none);
  table('table-bigkeys', [column('type', row => row.name.split('_')[0], { class: 'd' }), key, database,
    number('memory', row => bytes(row.bytes), { title: row => `${row.bytes} bytes` }),
    number('elements', row => count(Number(row.elements)), { title: row => row.elements })],
  lines(info.Bigkeys, 'kv_bigkey_').sort((a, b) => b.bytes - a.bytes), none);
}

const notAllowed = 'This user may not ask for it.';
function showSlowLog(log) {
  document.querySelector('[data-part=slowlog-total]').textContent = log ? count(log.total) : '–';
  table('table-slowlog', [
    column('at', row => new Date(row.time * 1000).toLocaleTimeString(), { class: 'd',
      title: row => new Date(row.time * 1000).toISOString() }),
    number('took', row => micros(row.microseconds), { title: row => `${row.microseconds} µs` }),
    column('command', row => row.arguments.join(' '), { class: 'mono w' }),
    column('client', row => [row.address, row.name].filter(Boolean).join(' '), { class: 'd' }),
  ], log?.entries ?? [], log ? 'No command was slow.' : notAllowed);
}

function showClients(clients) {
  table('table-clients', [
    number('id', row => row.id), column('address', row => row.addr, { class: 'mono' }),
    column('name', row => row.name), column('user', row => row.user),
    column('library', row => `${row['lib-name']} ${row['lib-ver']}`.trim(), { class: 'd' }),
    column('last command', row => row.cmd === 'NULL' ? '–' : row.cmd, { class: 'mono' }), number('db', row => row.db),
    number('age', row => span(Number(row.age))), number('idle', row => span(Number(row.idle))),
    column('flags', row => row.flags), number('memory', row => bytes(row['tot-mem'])),
  ], clients ?? [], clients ? 'Nobody is connected.' : notAllowed);
}

let options = null;
function showOptions() {
  const text = byId('option-text').value.toLowerCase(), onlyChanged = byId('option-changed').checked;
  const rows = (options ?? []).filter(one => (!onlyChanged || one.value !== one.default)
    && `${one.name} ${one.value}`.toLowerCase().includes(text));
  const columns = [
    column('option', row => row.name, { class: 'mono' }), column('value', row => row.value, { class: 'mono w' }),
    column('by default', row => row.value === row.default ? '' : row.default || '(empty)', { class: 'mono d' }),
  ];
  if (rows.some(row => row.origin)) columns.push(column('set by', row => row.origin ?? '', { class: 'd' }));
  columns.push(column('what it is', row => row.summary, { class: 'd w' }));
  table('table-options', columns, rows.map(row => ({ ...row, class: row.value === row.default ? '' : 'changed' })),
    options ? 'No option is like that.' : notAllowed);
}

const marked = [...document.querySelectorAll('[data-field]')];
function show(status) {
  const fields = Object.assign({}, ...Object.values(status.info));
  for (const node of marked) {
    const value = fields[node.dataset.field];
    const format = formats[node.dataset.format];
    node.textContent = value == null ? '–' : format ? format(value) : value;
    node.title = value ?? '';
  }
  document.title = `Kv :${fields.tcp_port} · ${count(Number(fields.instantaneous_ops_per_sec))}/s`;
  showCommands(status.info, note(status, fields));
  for (const draw of draws) draw();
  showMemory(fields);
  showKeys(status.info);
  showSlowLog(status.slowlog);
  showClients(status.clients);
  options = status.options;
  showOptions();
}

// The clock: one look after another, none while nobody sees the page.

// Without a name and password that may be in the page's own address: fetch takes none.
const source = `${location.origin}/status.json`;
const REPLY_MS = 10000;
let timer = 0, paused = false, looks = 0;
function tell(state, text) {
  byId('state').className = `state ${state}`;
  if (byId('state').textContent !== text) byId('state').textContent = text;
}
async function look() {
  clearTimeout(timer);
  const own = ++looks;
  try {
    // A server that stands still accepts, and says nothing.
    const reply = await fetch(source, { cache: 'no-store', signal: AbortSignal.timeout(REPLY_MS) });
    if (!reply.ok) throw new Error(`${reply.status} ${(await reply.text()).trim()}`);
    const status = await reply.json();
    if (own !== looks) return;
    show(status);
    byId('notice').hidden = true;
    tell('live', 'live');
  } catch (error) {
    if (own !== looks) return;
    byId('notice').textContent = `The server does not say how it is: ${error.message}`;
    byId('notice').hidden = false;
    tell('lost', 'no reply');
  }
  if (paused) tell('', 'paused');
  else if (!document.hidden) timer = setTimeout(look, Number(byId('interval').value));
}
function pause(now) {
  paused = now;
  byId('pause').setAttribute('aria-pressed', String(paused));
  byId('pause').textContent = paused ? 'Go on' : 'Pause';
  if (!paused) look();
  else {
    clearTimeout(timer);
    tell('', 'paused');
  }
}
byId('pause').addEventListener('click', () => pause(!paused));
byId('interval').addEventListener('change', () => paused || look());
byId('option-text').addEventListener('input', showOptions);
byId('option-changed').addEventListener('change', showOptions);
document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : paused || look());
look();
