// Runs a queue of BullMQ from end to end; prints what it did and what it left. Arguments: folder of the modules, host,
// port. Nothing that is printed depends on how fast the machine is.
'use strict';

const [folder, host, port] = process.argv.slice(2);
const { createRequire } = require('node:module');
const load = createRequire(`${folder}/`);
const { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } = load('bullmq');
const Redis = load('ioredis');

const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const open = [];

function keep(thing) {
    open.push(thing);
    return thing;
}

const queueOf = name => keep(new Queue(name, { connection }));

function workerOf(name, work, options = {}) {
    // Nothing is taken for stalled, however long the machine stands still.
    const patience = { lockDuration: 600000, stalledInterval: 600000 };
    const worker = keep(new Worker(name, work, { connection, drainDelay: 1, ...patience, ...options }));
    worker.on('error', error => { throw error; });
    return worker;
}

async function until(what, condition) {
    for (let i = 0; i < 6000; i++) {
        if (await condition()) return;
        await new Promise(resolve => setTimeout(resolve, 10));
    }

    throw new Error(`waited in vain for: ${what}`);
}

const tell = (...values) => console.log(values.map(value =>
    typeof value === 'string' ? value : JSON.stringify(value)).join(' '));

async function countsOf(queue) {
    const counts = await queue.getJobCounts();
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0).sort());
}

async function process_in_order() {
    const queue = queueOf('plain');
    const seen = [];
    for (let i = 0; i < 5; i++) await queue.add('job', { n: i, text: 'x'.repeat(i * 100) });
    await queue.add('urgent', { n: 'u' }, { priority: 1 });
    await queue.add('less', { n: 'l' }, { priority: 20 });
    await queue.add('more', { n: 'm' }, { priority: 10 });
    await queue.add('last', { n: 'z' }, { lifo: true });
    await queue.addBulk([1, 2, 3].map(n => ({ name: 'bulk', data: { n: `b${n}` } })));
    await queue.add('named', { n: 'once' }, { jobId: 'my-id' });
    await queue.add('named', { n: 'twice' }, { jobId: 'my-id' });
    tell('added', await countsOf(queue), await queue.getJobCountByTypes('waiting', 'prioritized'));
    const worker = workerOf('plain', async job => {
        seen.push(job.data.n);
        await job.updateProgress(50);
        await job.log(`did ${job.data.n}`);
        return { did: job.data.n, id: job.id };
    });
    await until('all done', async () => await queue.getCompletedCount() === 13);
    await worker.close();
    tell('order', seen);
    tell('results', (await queue.getCompleted()).map(job => job.returnvalue.did).sort());
    const one = await queue.getJob('my-id');
    tell('one', one.name, one.data, one.returnvalue, one.progress, one.attemptsMade, await one.getState(),
        (await queue.getJobLogs('my-id')).logs);
}

async function fail_and_try_again() {
    const queue = queueOf('failing'), events = keep(new QueueEvents('failing', { connection }));
    await events.waitUntilReady();
    const tries = {};
    const worker = workerOf('failing', async job => {
        tries[job.name] = (tries[job.name] ?? 0) + 1;
        if (job.name === 'never') throw new Error('never works');
        if (job.name === 'final') throw new UnrecoverableError('no use');
        if (tries[job.name] < 3) throw new Error('not yet');
        return tries[job.name];
    });
    const third = await queue.add('third', {}, { attempts: 5, backoff: 10 });
    const never = await queue.add('never', {}, { attempts: 2, backoff: { type: 'exponential', delay: 10 } });
    const final = await queue.add('final', {}, { attempts: 9 });
    tell('third', await third.waitUntilFinished(events));
    for (const job of [never, final]) {
        tell(job.name, await job.waitUntilFinished(events).catch(error => error.message));
        const read = await queue.getJob(job.id);
        tell(job.name, read.attemptsMade, read.failedReason, await read.getState());
    }

    await worker.close();
    const again = await queue.getJob(never.id);
    await again.retry();
    tell('retried', await again.getState(), await countsOf(queue), tries);
}

async function wait_a_while() {
    const queue = queueOf('later');
    await queue.add('far', {}, { delay: 3600000 });
    const near = await queue.add('near', {}, { delay: 300 });
    const moved = await queue.add('moved', {}, { delay: 3600000 });
    tell('delayed', await near.getState(), await countsOf(queue));
    await moved.promote();
    tell('promoted', await moved.getState());
    const worker = workerOf('later', async () => 'done');
    await until('near is done', async () => await near.getState() === 'completed');
    const read = await queue.getJob(near.id);
    tell('waited', read.processedOn - read.timestamp >= 290, await countsOf(queue));
    await worker.close();
}

async function repeat() {
    const queue = queueOf('often');
    const seen = [];
    await queue.upsertJobScheduler('tick', { every: 50, limit: 4 }, { name: 'tick', data: { of: 'a clock' } });
    const worker = workerOf('often', async job => { seen.push(job.data.of); });
    await until('four ticks', async () => await queue.getCompletedCount() === 4);
    await queue.upsertJobScheduler('noon', { pattern: '0 0 12 29 2 *', tz: 'UTC' }, { name: 'noon' });
    tell('repeated', seen, (await queue.getJobSchedulers()).map(row => row.key).sort());
    tell('removed', await queue.removeJobScheduler('noon'), await queue.removeJobScheduler('nothing'));
    await worker.close();
}

async function limit_the_rate() {
    const queue = queueOf('slow');
    await queue.addBulk([1, 2, 3, 4, 5, 6].map(n => ({ name: 'job', data: { n } })));
    const limits = { limiter: { max: 2, duration: 3600000 }, concurrency: 4 };
    for (const done of [2, 4, 6]) {
        const worker = workerOf('slow', async job => job.data.n, limits);
        await until(`${done} jobs`, async () => await queue.getCompletedCount() === done);
        await worker.close();
        tell('limited', await countsOf(queue), await queue.getRateLimitTtl(2) > 0);
        await queue.removeRateLimitKey();
    }
}

async function pause_and_go_on() {
    const queue = queueOf('paused');
    await queue.pause();
    const worker = workerOf('paused', async job => job.data.n);
    await worker.waitUntilReady();
    await queue.addBulk([1, 2, 3].map(n => ({ name: 'job', data: { n } })));
    tell('paused', await queue.isPaused(), await countsOf(queue));
    await queue.resume();
    await until('three', async () => await queue.getCompletedCount() === 3);
    tell('resumed', await queue.isPaused(), await countsOf(queue));
    await worker.close();
}

async function wait_for_children() {
    const flows = keep(new FlowProducer({ connection })), queue = queueOf('parents');
    const children = workerOf('children', async job => job.data.n * 10);
    const parents = workerOf('parents', async job => {
        const values = Object.values(await job.getChildrenValues());
        return values.reduce((sum, value) => sum + value, 0);
    });
    const tree = await flows.add({
        name: 'sum', queueName: 'parents',
        children: [1, 2, 3, 4].map(n => ({ name: 'part', queueName: 'children', data: { n } })),
    });
    await until('the parent', async () => await tree.job.getState() === 'completed');
    const read = await queue.getJob(tree.job.id);
    tell('sum', read.returnvalue, (await read.getDependenciesCount()).processed);
    await children.close();
    await parents.close();
}

async function share_the_work() {
    const queue = queueOf('shared');
    const done = new Map();
    const jobs = [...Array(200).keys()];
    const workers = [1, 2, 3].map(() => workerOf('shared', async job => {
        done.set(job.data.n, (done.get(job.data.n) ?? 0) + 1);
    }, { concurrency: 10 }));
    await queue.addBulk(jobs.map(n => ({ name: 'job', data: { n }, opts: { removeOnComplete: true } })));
    await until('all', async () => done.size === jobs.length && Object.keys(await countsOf(queue)).length === 0);
    for (const worker of workers) await worker.close();
    tell('shared', done.size, [...done.values()].every(times => times === 1), await countsOf(queue));
}

async function tidy_up() {
    const queue = queueOf('plain');
    tell('cleaned', (await queue.clean(0, 4, 'completed')).length, await countsOf(queue));
    await (await queue.getJob('my-id'))?.remove();
    await queue.add('job', {});
    await queue.drain();
    await queueOf('later').obliterate({ force: true });
    await queueOf('failing').obliterate();
}

// What is left in the server, without ids, and without keys that go by themselves.
async function left() {
    const redis = keep(new Redis(connection));
    const mask = name => name.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '#').replace(/:\d+\b/g, ':#');
    const lines = new Map();
    for (const key of await redis.keys('bull:*')) {
        if (/:(stalled-check|marker|limiter)$/.test(key)) continue;
        const type = await redis.type(key);
        const fields = type === 'hash' ? [...new Set((await redis.hkeys(key)).map(mask))].sort().join() : '';
        const count = { list: 'llen', set: 'scard', zset: 'zcard' }[type];
        const line = `${mask(key)} ${type} ${count ? await redis[count](key) : ''} ${fields}`;
        lines.set(line, (lines.get(line) ?? 0) + 1);
    }

    for (const [line, times] of [...lines].sort()) tell('left', times, line);
}

async function main() {
    for (const step of [process_in_order, fail_and_try_again, wait_a_while, repeat, limit_the_rate, pause_and_go_on,
        wait_for_children, share_the_work, tidy_up, left]) await step();
    for (const thing of open) await (thing.close ? thing.close() : thing.quit());
    tell('ok');
}

main().catch(error => {
    console.error(error);
    process.exit(1);
});
