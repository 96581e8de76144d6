// The ledger of a schedule: every time it considered, once, with what became of it.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { status } from '@grpc/grpc-js';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { connectOwn } from './lib/own.mjs';
import { eventually, failure, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const NAMESPACE = 'default';
const EVERY_SECOND = { intervals: [{ every: '1s' }] };
const NEVER = { calendars: [{ year: 2099 }] };

const world = openWorld();
let connection;
const own = () => (connection ??= connectOwn(world.server));
after(() => connection?.close());

const secondsOf = ({ seconds }) => Number(seconds);
const milliseconds = ({ seconds = 0, nanos = 0 }) => Number(seconds) * 1000 + Math.floor(nanos / 1_000_000);
const nominal = (entry) => secondsOf(entry.nominalTime);
const date = (seconds) => new Date(seconds * 1000);

async function withSchedule(options, body, where = world) {
  const scheduleId = `l-${randomUUID()}`;
  const action = {
    type: 'startWorkflow',
    workflowType: 'hello',
    args: ['Ada'],
    workflowId: `${scheduleId}-w`,
    taskQueue: where.taskQueue,
    ...options.action,
  };
  const handle = await where.client.schedule.create({ scheduleId, spec: EVERY_SECOND, ...options, action });
  try {
    return await body(handle);
  } finally {
    await where.endSchedule(handle);
  }
}

// All of it, oldest first, read in pages of this size.
async function ledger(handle, request = {}, service = own()) {
  const entries = [];
  let nextPageToken;
  do {
    const page = await service.schedules.listScheduleLedger({
      namespace: NAMESPACE,
      scheduleId: handle.scheduleId,
      nextPageToken,
      ...request,
    });
    assert.ok(!request.maximumPageSize || page.entries.length <= request.maximumPageSize);
    entries.push(...page.entries);
    ({ nextPageToken } = page);
  } while (nextPageToken?.length);
  return entries.reverse();
}

// The nominal times that an entry stands for; only an interval of a second can be taken apart like this.
function times(entry) {
  const first = nominal(entry);
  const last = entry.lastNominalTime ? secondsOf(entry.lastNominalTime) : first;
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

const isOfSpec = (entry) => entry.origin === 'LEDGER_ORIGIN_SPEC';

function assertEachSecondOnce(entries) {
  const seconds = entries.filter(isOfSpec).flatMap(times);
  seconds.forEach((each, i) => assert.equal(each, seconds[0] + i, `gap or double at ${date(each).toISOString()}`));
}

const fates = (entries) => entries.map((each) => each.fate.replace('LEDGER_FATE_', ''));
const withFate = (entries, fate) => entries.filter((each) => each.fate === `LEDGER_FATE_${fate}`);

describe('the ledger', { timeout: 180_000 }, () => {
  test('has a started action with its ids, times and end', async () => {
    await withSchedule({ spec: EVERY_SECOND, policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL } }, async (handle) => {
      const done = await eventually(async () => {
        const all = withFate(await ledger(handle), 'STARTED').filter((each) => each.closeTime);
        return all.length >= 3 && all;
      });
      for (const entry of done) {
        assert.equal(entry.status, 'WORKFLOW_EXECUTION_STATUS_COMPLETED');
        assert.equal(entry.origin, 'LEDGER_ORIGIN_SPEC');
        const iso = date(nominal(entry)).toISOString().replace('.000Z', 'Z');
        assert.equal(entry.workflowId, `${handle.scheduleId}-w-${iso}`);
        const run = await world.client.workflow.getHandle(entry.workflowId).describe();
        assert.equal(run.runId, entry.runId);
        assert.equal(Math.floor(run.closeTime.getTime() / 1000), secondsOf(entry.closeTime));
        assert.ok(secondsOf(entry.startTime) >= nominal(entry));
        assert.equal(milliseconds(entry.startTime) - milliseconds(entry.scheduledTime), milliseconds(entry.lateness));
      }
      assertEachSecondOnce(await ledger(handle));
      const ids = (await ledger(handle)).map((each) => each.id);
      assert.deepEqual(ids, ids.map((_, i) => i + ids[0]));
    });
  });

  test('has what was skipped, with a reason', async () => {
    const action = { workflowType: 'pause', args: [60_000] };
    await withSchedule({ action, policies: { overlap: ScheduleOverlapPolicy.SKIP } }, async (handle) => {
      const entries = await eventually(async () => {
        const all = await ledger(handle);
        return withFate(all, 'OVERLAP_SKIPPED').some((each) => Number(each.count) >= 3) && all;
      });
      assert.deepEqual(fates(entries), ['STARTED', 'OVERLAP_SKIPPED']); // the skipped ones share a row
      const [, skipped] = entries;
      assert.match(skipped.reason, /./);
      assert.equal(times(skipped).length, Number(skipped.count));
      assertEachSecondOnce(entries);
    });
  });

  test('has what a pause passed by, found by any of its times', async () => {
    await withSchedule({ state: { paused: true } }, async (handle) => {
      const since = Math.ceil(Date.now() / 1000);
      await eventually(async () => Date.now() / 1000 > since + 15);
      await handle.unpause();
      const entries = await eventually(async () => {
        const all = await ledger(handle);
        return withFate(all, 'STARTED').length >= 1 && all;
      });
      assertEachSecondOnce(entries);
      const middle = { seconds: since + 5 };
      const [found, ...others] = await ledger(handle, { startTime: middle, endTime: middle });
      assert.deepEqual(fates([found, ...others]), ['PAUSED']);
      assert.ok(times(found).includes(middle.seconds));
    });
  });

  test('has triggers and backfills', async () => {
    await withSchedule({ spec: NEVER, policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL } }, async (handle) => {
      await handle.trigger();
      const [entry] = await eventually(async () => {
        const all = withFate(await ledger(handle), 'STARTED');
        return all.length === 1 && all;
      });
      assert.equal(entry.origin, 'LEDGER_ORIGIN_TRIGGER');
    });
    const spec = { intervals: [{ every: '1h' }] };
    await withSchedule({ spec, policies: { overlap: ScheduleOverlapPolicy.BUFFER_ALL } }, async (handle) => {
      const start = new Date('2024-01-01T00:00:00Z');
      const end = new Date('2024-01-01T04:30:00Z');
      await handle.backfill({ start, end, overlap: ScheduleOverlapPolicy.BUFFER_ALL });
      const entries = await eventually(async () => {
        const all = withFate(await ledger(handle, { endTime: { seconds: end / 1000 } }), 'STARTED');
        return all.length === 5 && all.every((each) => each.closeTime) && all;
      });
      assert.deepEqual(
        entries.map((each) => date(nominal(each)).toISOString().slice(11, 16)),
        ['00:00', '01:00', '02:00', '03:00', '04:00'],
      );
      for (const each of entries) assert.equal(each.origin, 'LEDGER_ORIGIN_BACKFILL');
    });
  });

  test('is read in pages, and by time and fate', async () => {
    await withSchedule({ action: { workflowType: 'pause', args: [60_000] } }, async (handle) => {
      await eventually(async () => (await ledger(handle)).length >= 1);
      for (let i = 0; i < 4; i++) await handle.trigger(ScheduleOverlapPolicy.SKIP); // each has a row of its own
      const skips = async () => withFate(await ledger(handle), 'OVERLAP_SKIPPED').filter(isOfSpec);
      await eventually(async () => (await skips()).some((each) => Number(each.count) >= 2));
      await handle.pause();
      const all = await ledger(handle);
      const inPages = await ledger(handle, { maximumPageSize: 2 });
      assert.deepEqual(inPages.slice(0, all.length).map((each) => each.id), all.map((each) => each.id));
      const [first] = all;
      const started = await ledger(handle, { fates: ['LEDGER_FATE_STARTED'] });
      assert.deepEqual(started.map((each) => each.id), [first.id]);
      const before = await ledger(handle, { startTime: { seconds: nominal(first) - 60 }, endTime: first.nominalTime });
      assert.deepEqual(before.filter(isOfSpec).map((each) => each.id), [first.id]);
      const [skipped] = await skips();
      // A range that begins within the times of a row finds the row.
      const last = { startTime: skipped.lastNominalTime, endTime: skipped.lastNominalTime, fates: ['LEDGER_FATE_OVERLAP_SKIPPED'] };
      const within = (await ledger(handle, last)).filter(isOfSpec);
      assert.deepEqual(within.map((each) => each.id), [skipped.id]);
    });
  });

  test('is refused for what is not there, and for tokens of others', async () => {
    const ask = (request) => own().schedules.listScheduleLedger({ namespace: NAMESPACE, ...request });
    const refusal = async (request, code, text) => {
      const error = await failure(ask(request));
      assert.equal(error.code, code, String(error));
      assert.match(error.details, text);
    };
    await refusal({ scheduleId: 'nobody' }, status.NOT_FOUND, /^schedule "nobody" not found$/);
    await refusal({}, status.INVALID_ARGUMENT, /^ScheduleId is not set on request\.$/);
    await withSchedule({ spec: NEVER }, async ({ scheduleId }) => {
      const nextPageToken = Buffer.from('not a token');
      await refusal({ scheduleId, nextPageToken }, status.INVALID_ARGUMENT, /^Invalid NextPageToken\.$/);
      const fatesAsked = ['LEDGER_FATE_UNSPECIFIED'];
      await refusal({ scheduleId, fates: fatesAsked }, status.INVALID_ARGUMENT, /which is no fate/);
      assert.deepEqual((await ask({ scheduleId })).entries, []);
    });
  });

  test('is read when its schedule is deleted, and when another has its id', async () => {
    const page = (scheduleId, runId) => own().schedules.listScheduleLedger({ namespace: NAMESPACE, scheduleId, runId });
    const policies = { overlap: ScheduleOverlapPolicy.BUFFER_ALL };
    const action = { workflowType: 'collect', args: [] };
    const { scheduleId } = await withSchedule({ action, policies }, async (handle) => {
      await eventually(async () => withFate(await ledger(handle), 'WAITING').length >= 2);
      return handle;
    });
    const ended = await eventually(async () => {
      const all = await page(scheduleId);
      return all.entries.at(-1).status !== 'WORKFLOW_EXECUTION_STATUS_RUNNING' && all;
    });
    assert.equal(ended.status, 'WORKFLOW_EXECUTION_STATUS_TERMINATED');
    assert.ok(ended.endTime);
    assertEachSecondOnce(ended.entries.toReversed());
    const [first, ...others] = ended.entries.toReversed();
    assert.deepEqual([fates([first])[0], first.status], ['STARTED', 'WORKFLOW_EXECUTION_STATUS_TERMINATED']);
    for (const each of others) {
      assert.deepEqual(fates([each]), ['ENDED']);
      assert.match(each.reason, /deleted/);
    }
    const again = { scheduleId, spec: NEVER, action: { type: 'startWorkflow', workflowType: 'hello', taskQueue: 'none' } };
    const handle = await world.client.schedule.create(again);
    const { entries, status: now, previousRunId } = await page(scheduleId);
    assert.deepEqual([entries, now, previousRunId], [[], 'WORKFLOW_EXECUTION_STATUS_RUNNING', ended.runId]);
    assert.deepEqual((await page(scheduleId, previousRunId)).entries, ended.entries);
    await handle.delete();
    assert.equal((await failure(page(scheduleId, randomUUID()))).code, status.NOT_FOUND);
  });

  test('says the same after a crash, and what ran is what it says', async () => {
    await inNewWorld(async (there) => {
      let service = connectOwn(there.server);
      try {
        const policies = { overlap: ScheduleOverlapPolicy.ALLOW_ALL };
        await withSchedule({ policies }, async (handle) => {
          await eventually(async () => (await ledger(handle, {}, service)).length >= 3);
          const before = await ledger(handle, { fates: ['LEDGER_FATE_STARTED'] }, service);
          service.close();
          await there.server.kill();
          await there.server.launch();
          service = connectOwn(there.server);
          const { length } = before;
          const entries = await eventually(async () => {
            const all = await ledger(handle, {}, service).catch(() => []);
            return all.length >= length + 3 && all;
          });
          await handle.pause();
          assertEachSecondOnce(entries);
          const same = new Map(entries.map((each) => [each.id, each]));
          for (const each of before) {
            assert.equal(same.get(each.id).runId, each.runId);
            assert.equal(nominal(same.get(each.id)), nominal(each));
          }
          const query = `TemporalScheduledById = "${handle.scheduleId}"`;
          await eventually(async () => {
            const ran = new Set();
            for await (const run of there.client.workflow.list({ query })) ran.add(run.runId);
            const started = await ledger(handle, { fates: ['LEDGER_FATE_STARTED'] }, service);
            return isDeepStrictEqual(new Set(started.map((each) => each.runId)), ran);
          });
        }, there);
      } finally {
        service.close();
      }
    });
  });
});

replayAll(world);
