import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.temporal.api.common.v1.WorkflowExecution;
import io.temporal.api.enums.v1.EventType;
import io.temporal.api.enums.v1.IndexedValueType;
import io.temporal.api.enums.v1.PendingActivityState;
import io.temporal.api.enums.v1.ScheduleOverlapPolicy;
import io.temporal.api.enums.v1.WorkflowExecutionStatus;
import io.temporal.api.enums.v1.WorkflowIdConflictPolicy;
import io.temporal.api.enums.v1.WorkflowIdReusePolicy;
import io.temporal.api.history.v1.History;
import io.temporal.api.history.v1.HistoryEvent;
import io.temporal.api.operatorservice.v1.AddSearchAttributesRequest;
import io.temporal.api.workflow.v1.PendingActivityInfo;
import io.temporal.api.workflowservice.v1.DescribeWorkflowExecutionRequest;
import io.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse;
import io.temporal.client.UpdateOptions;
import io.temporal.client.WithStartWorkflowOperation;
import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowExecutionAlreadyStarted;
import io.temporal.client.WorkflowExecutionMetadata;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowNotFoundException;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowQueryException;
import io.temporal.client.WorkflowStub;
import io.temporal.client.WorkflowUpdateException;
import io.temporal.client.WorkflowUpdateHandle;
import io.temporal.client.WorkflowUpdateStage;
import io.temporal.client.schedules.Schedule;
import io.temporal.client.schedules.ScheduleActionExecutionStartWorkflow;
import io.temporal.client.schedules.ScheduleActionResult;
import io.temporal.client.schedules.ScheduleActionStartWorkflow;
import io.temporal.client.schedules.ScheduleAlreadyRunningException;
import io.temporal.client.schedules.ScheduleBackfill;
import io.temporal.client.schedules.ScheduleCalendarSpec;
import io.temporal.client.schedules.ScheduleClient;
import io.temporal.client.schedules.ScheduleDescription;
import io.temporal.client.schedules.ScheduleException;
import io.temporal.client.schedules.ScheduleHandle;
import io.temporal.client.schedules.ScheduleIntervalSpec;
import io.temporal.client.schedules.ScheduleListDescription;
import io.temporal.client.schedules.ScheduleOptions;
import io.temporal.client.schedules.SchedulePolicy;
import io.temporal.client.schedules.ScheduleRange;
import io.temporal.client.schedules.ScheduleSpec;
import io.temporal.client.schedules.ScheduleState;
import io.temporal.client.schedules.ScheduleUpdate;
import io.temporal.common.SearchAttributes;
import io.temporal.common.WorkflowExecutionHistory;
import io.temporal.failure.ActivityFailure;
import io.temporal.failure.ApplicationFailure;
import io.temporal.failure.CanceledFailure;
import io.temporal.failure.TerminatedFailure;
import io.temporal.failure.TimeoutFailure;
import io.temporal.serviceclient.OperatorServiceStubs;
import io.temporal.serviceclient.OperatorServiceStubsOptions;
import io.temporal.serviceclient.WorkflowServiceStubs;
import io.temporal.serviceclient.WorkflowServiceStubsOptions;
import io.temporal.testing.ReplayResults;
import io.temporal.testing.WorkflowReplayer;
import io.temporal.worker.Worker;
import io.temporal.worker.WorkerFactory;
import io.temporal.worker.WorkerOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.function.Executable;

/**
 * The unmodified Temporal Java SDK against build/rondo. README.md says how to run it. One server, one client and one
 * worker for all tests; the last two replay every history that the others left.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TemporalTest {
  private static final String QUEUE = "java";

  private static RondoServer server;
  private static WorkflowServiceStubs stubs;
  private static WorkflowClient client;
  private static ScheduleClient schedules;
  private static WorkerFactory factory;
  private static final Set<String> started = Collections.synchronizedSet(new HashSet<>());

  @BeforeAll
  static void begin() throws Exception {
    server = new RondoServer();
    stubs =
        WorkflowServiceStubs.newServiceStubs(
            WorkflowServiceStubsOptions.newBuilder().setTarget(server.address()).build());
    client = WorkflowClient.newInstance(stubs);
    schedules = ScheduleClient.newInstance(stubs);
    factory = startWorker();
  }

  @AfterAll
  static void end() {
    factory.shutdownNow();
    stubs.shutdownNow();
    server.close();
  }

  private static WorkerFactory startWorker() {
    WorkerFactory made = WorkerFactory.newInstance(client);
    // Heartbeats are sent at once, so that a cancellation is heard at once.
    WorkerOptions options =
        WorkerOptions.newBuilder().setMaxHeartbeatThrottleInterval(Duration.ofMillis(100)).build();
    Worker worker = made.newWorker(QUEUE, options);
    worker.registerWorkflowImplementationTypes(Workflows.ALL);
    worker.registerActivitiesImplementations(new Activities.Own());
    made.start();
    return made;
  }

  private static String fresh(String name) {
    return name + "-" + UUID.randomUUID();
  }

  private static WorkflowOptions.Builder options(String id) {
    return WorkflowOptions.newBuilder().setTaskQueue(QUEUE).setWorkflowId(id);
  }

  /** Starts a workflow and notes its run, which the replay must find. */
  private static WorkflowStub start(String type, WorkflowOptions options, Object... args) {
    WorkflowStub stub = client.newUntypedWorkflowStub(type, options);
    started.add(stub.start(args).getRunId());
    return stub;
  }

  private static WorkflowStub start(String type, Object... args) {
    return start(type, options(fresh(type.toLowerCase())).build(), args);
  }

  /** The first answer that is not null. Waits for ever; a test that hangs is ended from outside. */
  private static <T> T eventually(Callable<T> probe) throws Exception {
    while (true) {
      T found = probe.call();
      if (found != null) return found;
      Thread.sleep(50);
    }
  }

  private static History history(WorkflowExecution run) {
    WorkflowExecutionHistory found = client.fetchHistory(run.getWorkflowId(), run.getRunId());
    return History.newBuilder().addAllEvents(found.getEvents()).build();
  }

  private static List<String> kinds(WorkflowStub stub) {
    return history(stub.getExecution()).getEventsList().stream()
        .map(event -> event.getEventType().name().substring("EVENT_TYPE_".length()))
        .toList();
  }

  private static DescribeWorkflowExecutionResponse describe(WorkflowExecution run) {
    DescribeWorkflowExecutionRequest request =
        DescribeWorkflowExecutionRequest.newBuilder().setNamespace("default").setExecution(run).build();
    return stubs.blockingStub().describeWorkflowExecution(request);
  }

  private static WorkflowExecutionStatus statusOf(WorkflowStub stub) {
    return describe(stub.getExecution()).getWorkflowExecutionInfo().getStatus();
  }

  private static Throwable failureOf(WorkflowStub stub) {
    return assertThrows(WorkflowFailedException.class, () -> stub.getResult(Void.class)).getCause();
  }

  private static List<?> result(WorkflowStub stub) {
    return stub.getResult(List.class);
  }

  // Activities.

  @Test
  void helloWithRetries() {
    WorkflowStub stub = start("Hello", "World", 2);
    assertEquals(new Activities.Greeting("Hello, World!", 3), stub.getResult(Activities.Greeting.class));
    assertEquals(
        List.of("ACTIVITY_TASK_SCHEDULED", "ACTIVITY_TASK_STARTED", "ACTIVITY_TASK_COMPLETED"),
        kinds(stub).stream().filter(kind -> kind.startsWith("ACTIVITY")).toList());
    HistoryEvent found =
        history(stub.getExecution()).getEventsList().stream()
            .filter(HistoryEvent::hasActivityTaskStartedEventAttributes)
            .findFirst()
            .orElseThrow();
    assertEquals(3, found.getActivityTaskStartedEventAttributes().getAttempt());
    assertEquals("attempt 2 fails", found.getActivityTaskStartedEventAttributes().getLastFailure().getMessage());
  }

  @Test
  void failuresReachTheClient() {
    ActivityFailure refused = assertInstanceOf(ActivityFailure.class, failureOf(start("Failures", "activity")));
    assertEquals("RETRY_STATE_NON_RETRYABLE_FAILURE", refused.getRetryState().name());
    ApplicationFailure cause = assertInstanceOf(ApplicationFailure.class, refused.getCause());
    assertEquals("Refused: no such order", cause.getType() + ": " + cause.getOriginalMessage());
    assertEquals(Map.of("why", "no such order"), cause.getDetails().get(0, Map.class));
    ActivityFailure exhausted = assertInstanceOf(ActivityFailure.class, failureOf(start("Failures", "exhausted")));
    assertEquals("RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED", exhausted.getRetryState().name());
    assertEquals("attempt 3 fails", ((ApplicationFailure) exhausted.getCause()).getOriginalMessage());
    TimeoutFailure late = assertInstanceOf(TimeoutFailure.class, failureOf(start("Failures", "timeout")).getCause());
    assertEquals("TIMEOUT_TYPE_START_TO_CLOSE", late.getTimeoutType().name());
    ApplicationFailure own = assertInstanceOf(ApplicationFailure.class, failureOf(start("Failures", "self")));
    assertEquals("Own: itself, 7", own.getType() + ": " + own.getOriginalMessage() + ", " + own.getDetails().get(Integer.class));
  }

  @Test
  void heartbeatsCarryProgressToTheNextAttempt() {
    assertEquals(List.of(6, 7, 8, 9, 10), result(start("Counting", 10)));
  }

  @Test
  void activitiesThatAreCompletedFromElsewhere() throws Exception {
    WorkflowStub stub = start("Later");
    PendingActivityInfo pending =
        eventually(
            () ->
                describe(stub.getExecution()).getPendingActivitiesList().stream()
                    .filter(each -> each.getState() == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED)
                    .findFirst()
                    .orElse(null));
    client
        .newActivityCompletionClient()
        .complete(stub.getExecution().getWorkflowId(), Optional.empty(), pending.getActivityId(), "from elsewhere");
    assertEquals("from elsewhere", stub.getResult(String.class));
  }

  @Test
  void localActivities() {
    WorkflowStub stub = start("Local");
    assertEquals(List.of("Hello, Local!", "3", "noted: 0", "noted: 1", "noted: 2", "locally"), result(stub));
    List<String> found = kinds(stub);
    assertEquals(5, Collections.frequency(found, "MARKER_RECORDED"));
    assertTrue(found.stream().noneMatch(kind -> kind.startsWith("ACTIVITY")));
  }

  // Time.

  @Test
  void timersFireInOrderAndNotEarly() {
    WorkflowStub stub = start("Timers", 300);
    assertEquals(List.of("first", "second", "timed out"), result(stub));
    Map<String, Long> due = new HashMap<>();
    int fired = 0;
    for (HistoryEvent event : history(stub.getExecution()).getEventsList()) {
      long at = Timestamps.toMicros(event.getEventTime());
      if (event.hasTimerStartedEventAttributes()) {
        var timer = event.getTimerStartedEventAttributes();
        due.put(timer.getTimerId(), at + Durations.toMicros(timer.getStartToFireTimeout()));
      } else if (event.hasTimerFiredEventAttributes()) {
        assertTrue(at >= due.get(event.getTimerFiredEventAttributes().getTimerId()));
        fired++;
      }
    }
    assertEquals(3, fired);
    assertTrue(kinds(stub).contains("TIMER_CANCELED"));
  }

  @Test
  void whatMustBeTheSameInAReplay() {
    List<?> found = result(start("Deterministic"));
    Integer.parseInt((String) found.get(0));
    assertEquals(found.get(1), UUID.fromString((String) found.get(1)).toString());
    assertEquals(List.of("drawn", "7", "true"), found.subList(2, 5));
  }

  // Signals, queries, updates.

  @Test
  void signals() {
    WorkflowStub stub = start("Account", 5);
    List<String> expected = new ArrayList<>();
    for (int amount = 1; amount <= 5; amount++) {
      stub.signal("deposit", amount);
      expected.add("deposit " + amount);
    }
    stub.signal("unheard of", 1, 2);
    expected.add("unheard of 3");
    stub.signal("close");
    assertEquals(expected, result(stub));
    assertThrows(WorkflowNotFoundException.class, () -> stub.signal("deposit", 1));
  }

  @Test
  void signalWithStart() throws Exception {
    String id = fresh("both");
    WorkflowStub stub = null;
    for (int amount : new int[] {3, 4}) {
      stub = client.newUntypedWorkflowStub("Account", options(id).build());
      started.add(stub.signalWithStart("deposit", new Object[] {amount}, new Object[] {0}).getRunId());
    }
    WorkflowStub last = stub;
    eventually(() -> last.query("balanceOf", String.class, "EUR").equals("7 EUR") ? true : null);
    last.signal("close");
    assertEquals(List.of("deposit 3", "deposit 4"), result(last));
  }

  @Test
  void queriesOfRunningAndClosedWorkflows() {
    WorkflowStub stub = start("Account", 12);
    assertEquals("12 USD", stub.query("balanceOf", String.class, "USD"));
    for (Map.Entry<String, String> each : Map.of("broken", "cannot say", "unknown", "unknown").entrySet()) {
      Exception failed = assertThrows(WorkflowQueryException.class, () -> stub.query(each.getKey(), String.class));
      String text = failed.getMessage() + failed.getCause();
      assertTrue(text.contains(each.getValue()), text);
    }
    stub.signal("close");
    result(stub);
    assertEquals("12 USD", stub.query("balanceOf", String.class, "USD"));
  }

  private static ApplicationFailure updateFails(WorkflowStub stub, String name, Object... args) {
    Exception failed = assertThrows(WorkflowUpdateException.class, () -> stub.update(name, Integer.class, args));
    return assertInstanceOf(ApplicationFailure.class, failed.getCause());
  }

  @Test
  void updates() throws Exception {
    WorkflowStub stub = start("Account", 10);
    assertEquals(6, stub.update("withdraw", Integer.class, 4));
    ApplicationFailure refused = updateFails(stub, "withdraw", 7);
    assertEquals("only 6 there", refused.getOriginalMessage()); // this SDK does not tell the type
    assertEquals("lost", updateFails(stub, "lose").getOriginalMessage());
    updateFails(stub, "no such update");

    UpdateOptions<Integer> accepted =
        UpdateOptions.newBuilder(Integer.class)
            .setUpdateName("waitFor")
            .setUpdateId("w")
            .setWaitForStage(WorkflowUpdateStage.ACCEPTED)
            .build();
    WorkflowUpdateHandle<Integer> waiting = stub.startUpdate(accepted, 50);
    stub.signal("deposit", 44);
    assertEquals(50, waiting.getResultAsync().get(5, TimeUnit.MINUTES));
    assertEquals(50, stub.getUpdateHandle("w", Integer.class).getResultAsync().get(5, TimeUnit.MINUTES));
    // The same id is the same update: nothing is done again.
    assertEquals(50, stub.startUpdate(accepted, 9999).getResultAsync().get(5, TimeUnit.MINUTES));
    stub.signal("close");
    assertEquals(List.of("withdraw 4", "deposit 44"), result(stub));
    // What the validator refused, and what there is no handler for, is not in the history.
    assertEquals(3, Collections.frequency(kinds(stub), "WORKFLOW_EXECUTION_UPDATE_ACCEPTED"));
    assertEquals(3, Collections.frequency(kinds(stub), "WORKFLOW_EXECUTION_UPDATE_COMPLETED"));
  }

  @Test
  void updateWithStart() {
    WorkflowOptions shared =
        options(fresh("opened"))
            .setWorkflowIdConflictPolicy(WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
            .build();
    Map<Integer, Integer> left = new LinkedHashMap<>();
    Workflows.Account account = null;
    for (int opening : new int[] {20, 1000}) { // the second finds the first
      account = client.newWorkflowStub(Workflows.Account.class, shared);
      UpdateOptions<Integer> done =
          UpdateOptions.newBuilder(Integer.class).setWaitForStage(WorkflowUpdateStage.COMPLETED).build();
      left.put(
          opening,
          WorkflowClient.executeUpdateWithStart(
              account::withdraw, 5, done, new WithStartWorkflowOperation<>(account::run, opening)));
    }
    assertEquals(Map.of(20, 15, 1000, 10), left);
    account.close();
    assertEquals(List.of("withdraw 5", "withdraw 5"), result(WorkflowStub.fromTyped(account)));
  }

  // Children and chains of runs.

  @Test
  void children() {
    WorkflowStub stub = start("Parent", "wait");
    String id = stub.getExecution().getWorkflowId();
    assertEquals(
        List.of(id + ": from inside", "child 0", "child 1", "child 2", "ChildFailed: the child fails", "CanceledFailure"),
        result(stub));
    var info = describe(WorkflowExecution.newBuilder().setWorkflowId(id + "/sleeping").build()).getWorkflowExecutionInfo();
    assertEquals(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED, info.getStatus());
    assertEquals(id + " " + id, info.getParentExecution().getWorkflowId() + " " + info.getRootExecution().getWorkflowId());
  }

  @Test
  void whatHappensToChildrenWhenTheParentCloses() {
    WorkflowStub stub = start("Parent", "abandon");
    assertEquals(List.of(), result(stub));
    String id = stub.getExecution().getWorkflowId();
    assertInstanceOf(TerminatedFailure.class, failureOf(client.newUntypedWorkflowStub(id + "/terminated")));
    assertInstanceOf(CanceledFailure.class, failureOf(client.newUntypedWorkflowStub(id + "/cancelled")));
    WorkflowStub abandoned = client.newUntypedWorkflowStub(id + "/abandoned");
    assertEquals(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(abandoned));
    abandoned.signal("say", "alone");
    assertEquals(id + ": alone", abandoned.getResult(String.class));
  }

  @Test
  void continueAsNew() {
    WorkflowStub stub = start("Chain", 3, new ArrayList<String>());
    List<?> runs = result(stub);
    assertEquals(4, Set.copyOf(runs).size());
    String id = stub.getExecution().getWorkflowId();
    assertEquals(stub.getExecution().getRunId(), runs.get(0));
    WorkflowExecution first = WorkflowExecution.newBuilder().setWorkflowId(id).setRunId((String) runs.get(0)).build();
    assertEquals(
        WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
        describe(first).getWorkflowExecutionInfo().getStatus());
    List<HistoryEvent> events = history(first).getEventsList();
    HistoryEvent closing = events.get(events.size() - 1);
    assertEquals(runs.get(1), closing.getWorkflowExecutionContinuedAsNewEventAttributes().getNewExecutionRunId());
    WorkflowExecution latest = WorkflowExecution.newBuilder().setWorkflowId(id).build();
    assertEquals(runs.get(3), describe(latest).getWorkflowExecutionInfo().getExecution().getRunId());
  }

  // Endings.

  @Test
  void cancellationReachesTheActivityAndLetsTheWorkflowCleanUp() throws Exception {
    WorkflowStub stub = start("Cancelled");
    eventually(
        () ->
            describe(stub.getExecution()).getPendingActivitiesList().stream().anyMatch(PendingActivityInfo::hasLastHeartbeatTime)
                ? true
                : null);
    stub.cancel();
    assertInstanceOf(CanceledFailure.class, failureOf(stub)); // whatever a cancelled workflow throws, in this SDK
    List<String> found = kinds(stub);
    List<String> expected =
        List.of(
            "WORKFLOW_EXECUTION_CANCEL_REQUESTED", "ACTIVITY_TASK_CANCEL_REQUESTED", "ACTIVITY_TASK_CANCELED",
            "ACTIVITY_TASK_COMPLETED", "WORKFLOW_EXECUTION_CANCELED");
    assertEquals(expected, found.stream().filter(expected::contains).toList());
  }

  @Test
  void cancelledTerminatedAndTimedOut() {
    WorkflowStub cancelled = start("Forever");
    cancelled.cancel();
    assertInstanceOf(CanceledFailure.class, failureOf(cancelled));
    assertEquals(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED, statusOf(cancelled));
    WorkflowStub terminated = start("Forever");
    terminated.terminate("by the test");
    assertInstanceOf(TerminatedFailure.class, failureOf(terminated));
    List<HistoryEvent> events = history(terminated.getExecution()).getEventsList();
    assertEquals(
        "by the test", events.get(events.size() - 1).getWorkflowExecutionTerminatedEventAttributes().getReason());
    WorkflowStub timedOut =
        start("Forever", options(fresh("forever")).setWorkflowExecutionTimeout(Duration.ofMillis(500)).build());
    assertInstanceOf(TimeoutFailure.class, failureOf(timedOut));
    assertEquals(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, statusOf(timedOut));
  }

  @Test
  void idsAreTakenAndFreeAgain() {
    String id = fresh("taken");
    WorkflowStub first = start("Forever", options(id).build());
    WorkflowExecutionAlreadyStarted taken =
        assertThrows(WorkflowExecutionAlreadyStarted.class, () -> start("Forever", options(id).build()));
    assertEquals(first.getExecution(), taken.getExecution());
    WorkflowIdConflictPolicy use = WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING;
    assertEquals(
        first.getExecution(), start("Forever", options(id).setWorkflowIdConflictPolicy(use).build()).getExecution());
    WorkflowIdConflictPolicy end = WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING;
    WorkflowStub other = start("Forever", options(id).setWorkflowIdConflictPolicy(end).build());
    assertNotEquals(first.getExecution(), other.getExecution());
    // A stub that started a run asks for the latest one; this asks for the run itself.
    WorkflowStub same = client.newUntypedWorkflowStub(first.getExecution(), Optional.empty());
    assertInstanceOf(TerminatedFailure.class, failureOf(same));
    other.terminate("enough");
    WorkflowIdReusePolicy once = WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE;
    assertThrows(
        WorkflowExecutionAlreadyStarted.class,
        () -> start("Forever", options(id).setWorkflowIdReusePolicy(once).build()));
  }

  // Lists.

  @Test
  void searchAttributesAndMemo() throws Exception {
    OperatorServiceStubs operator =
        OperatorServiceStubs.newServiceStubs(OperatorServiceStubsOptions.newBuilder().setTarget(server.address()).validateAndBuildWithDefaults());
    AddSearchAttributesRequest request =
        AddSearchAttributesRequest.newBuilder()
            .setNamespace("default")
            .putSearchAttributes(Workflows.COLOR.getName(), IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD)
            .putSearchAttributes(Workflows.SIZE.getName(), IndexedValueType.INDEXED_VALUE_TYPE_INT)
            .build();
    operator.blockingStub().addSearchAttributes(request);
    operator.shutdown();
    SearchAttributes attributes =
        SearchAttributes.newBuilder().set(Workflows.COLOR, "red").set(Workflows.SIZE, 41L).build();
    WorkflowStub stub =
        start(
            "Attributes",
            options(fresh("attributes"))
                .setTypedSearchAttributes(attributes)
                .setMemo(Map.of("kept", "as it was", "changed", "before", "dropped", "soon"))
                .build());
    Supplier<List<WorkflowExecutionMetadata>> blue =
        () -> {
          try (Stream<WorkflowExecutionMetadata> found = client.listExecutions("JavaColor = 'blue' AND JavaSize > 41")) {
            return found.toList();
          }
        };
    WorkflowExecutionMetadata found = eventually(() -> blue.get().stream().findFirst().orElse(null));
    assertEquals(stub.getExecution(), found.getExecution());
    assertEquals(42L, found.getTypedSearchAttributes().get(Workflows.SIZE));
    assertEquals("as it was, after", found.getMemo("kept", String.class) + ", " + found.getMemo("changed", String.class));
    assertEquals(null, found.getMemo("dropped", String.class));
    assertEquals(0, client.countWorkflows("JavaColor = 'red'").getCount());
    stub.signal("close");
    assertEquals(List.of("red 41", "as it was, before", "after, null"), result(stub));
  }

  @Test
  void listsAndCounts() {
    List<WorkflowStub> stubs = IntStream.range(0, 5).mapToObj(i -> start("Hello", options(fresh("listed")).build(), "x", 0)).toList();
    stubs.forEach(stub -> stub.getResult(Activities.Greeting.class));
    try (Stream<WorkflowExecutionMetadata> found =
        client.listExecutions("WorkflowId STARTS_WITH 'listed-' AND ExecutionStatus = 'Completed'")) {
      assertEquals(
          stubs.stream().map(WorkflowStub::getExecution).collect(Collectors.toSet()),
          found.map(WorkflowExecutionMetadata::getExecution).collect(Collectors.toSet()));
    }
    assertEquals(5, client.countWorkflows("WorkflowId STARTS_WITH 'listed-'").getCount());
  }

  // Schedules.

  private static ScheduleActionStartWorkflow action(String word) {
    return ScheduleActionStartWorkflow.newBuilder()
        .setWorkflowType("Scheduled")
        .setArguments(word)
        .setOptions(options(fresh("by-schedule")).build())
        .build();
  }

  private static List<ScheduleRange> range(int start, int end) {
    return List.of(new ScheduleRange(start, end));
  }

  private static List<String> endedRuns(String scheduleId, int count) throws Exception {
    String query = "TemporalScheduledById = '" + scheduleId + "' AND ExecutionStatus = 'Completed'";
    List<WorkflowExecutionMetadata> runs =
        eventually(
            () -> {
              try (Stream<WorkflowExecutionMetadata> found = client.listExecutions(query)) {
                List<WorkflowExecutionMetadata> all = found.toList();
                return all.size() >= count ? all : null;
              }
            });
    assertEquals(count, runs.size());
    List<String> words = new ArrayList<>();
    for (WorkflowExecutionMetadata run : runs) {
      List<?> found = client.newUntypedWorkflowStub(run.getExecution().getWorkflowId()).getResult(List.class);
      assertEquals(scheduleId, found.get(1));
      words.add((String) found.get(0));
    }
    Collections.sort(words);
    return words;
  }

  private static void isNotFound(Executable call) {
    Throwable thrown = assertThrows(Exception.class, call);
    Throwable cause = thrown instanceof ScheduleException ? thrown.getCause() : thrown;
    assertEquals(Status.Code.NOT_FOUND, assertInstanceOf(StatusRuntimeException.class, cause).getStatus().getCode());
  }

  @Test
  void theLifeOfASchedule() throws Exception {
    String id = fresh("schedule");
    ScheduleCalendarSpec workdays =
        ScheduleCalendarSpec.newBuilder()
            .setHour(range(9, 9))
            .setMinutes(range(30, 30))
            .setDayOfWeek(range(1, 5))
            .setComment("on workdays")
            .build();
    ScheduleCalendarSpec christmas =
        ScheduleCalendarSpec.newBuilder()
            .setMonth(range(12, 12))
            .setDayOfMonth(range(25, 25))
            .setHour(range(0, 23))
            .setMinutes(range(0, 59))
            .build();
    ScheduleSpec spec =
        ScheduleSpec.newBuilder()
            .setCalendars(List.of(workdays))
            .setCronExpressions(List.of("0 4 * * 0"))
            .setIntervals(List.of(new ScheduleIntervalSpec(Duration.ofHours(6), Duration.ofHours(5))))
            .setSkip(List.of(christmas))
            .setJitter(Duration.ofSeconds(3))
            .setTimeZoneName("Europe/Paris")
            .build();
    SchedulePolicy policy =
        SchedulePolicy.newBuilder()
            .setOverlap(ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE)
            .setCatchupWindow(Duration.ofHours(2))
            .setPauseOnFailure(true)
            .build();
    ScheduleState state =
        ScheduleState.newBuilder().setNote("made by the test").setLimitedAction(true).setRemainingActions(9).build();
    Schedule schedule =
        Schedule.newBuilder().setAction(action("first")).setSpec(spec).setPolicy(policy).setState(state).build();
    ScheduleOptions own = ScheduleOptions.newBuilder().setMemo(Map.of("of", "the schedule")).build();
    ScheduleHandle handle = schedules.createSchedule(id, schedule, own);
    assertThrows(ScheduleAlreadyRunningException.class, () -> schedules.createSchedule(id, schedule, own));

    ScheduleDescription described = handle.describe();
    assertEquals(id, described.getId());
    assertEquals("the schedule", described.getMemo("of", String.class));
    assertEquals(policy, described.getSchedule().getPolicy());
    assertEquals(state, described.getSchedule().getState());
    ScheduleSpec seen = described.getSchedule().getSpec();
    assertEquals(2, seen.getCalendars().size());
    assertTrue(seen.getCalendars().stream().anyMatch(each -> "on workdays".equals(each.getComment())));
    assertEquals(spec.getIntervals(), seen.getIntervals());
    assertEquals(1, seen.getSkip().size());
    assertEquals("Europe/Paris PT3S", seen.getTimeZoneName() + " " + seen.getJitter());
    assertEquals(9, described.getInfo().getNextActionTimes().size());
    assertEquals(0, described.getInfo().getNumActions());

    ScheduleListDescription listed =
        eventually(
            () -> {
              try (Stream<ScheduleListDescription> all = schedules.listSchedules()) {
                return all.filter(each -> each.getScheduleId().equals(id)).findFirst().orElse(null);
              }
            });
    assertEquals("made by the test", listed.getSchedule().getState().getNote());

    handle.pause("not now");
    ScheduleState paused = handle.describe().getSchedule().getState();
    assertEquals("true not now", paused.isPaused() + " " + paused.getNote());
    handle.trigger(); // also when paused
    assertEquals(List.of("first"), endedRuns(id, 1));
    handle.unpause("now");
    ScheduleState going = handle.describe().getSchedule().getState();
    assertEquals("false now", going.isPaused() + " " + going.getNote());

    handle.update(
        input -> {
          Schedule before = input.getDescription().getSchedule();
          ScheduleSpec hourly =
              ScheduleSpec.newBuilder().setIntervals(List.of(new ScheduleIntervalSpec(Duration.ofHours(1)))).build();
          SchedulePolicy all =
              SchedulePolicy.newBuilder(before.getPolicy())
                  .setOverlap(ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL)
                  .build();
          Schedule.Builder changed = Schedule.newBuilder(before).setAction(action("second")).setSpec(hourly).setPolicy(all);
          return new ScheduleUpdate(changed.setState(ScheduleState.newBuilder().build()).build());
        });
    described = handle.describe();
    assertEquals(Duration.ofHours(1), described.getSchedule().getSpec().getIntervals().get(0).getEvery());
    assertEquals(List.of(), described.getSchedule().getSpec().getCalendars());
    assertTrue(described.getSchedule().getPolicy().isPauseOnFailure());
    assertTrue(described.getInfo().getNextActionTimes().stream().allMatch(at -> at.getEpochSecond() % 3600 == 0));

    Instant year = Instant.parse("2020-01-01T00:00:00Z");
    Instant begin = year.plusSeconds(60);
    ScheduleOverlapPolicy all = ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
    handle.backfill(List.of(new ScheduleBackfill(begin, begin.plus(Duration.ofHours(4)), all)));
    assertEquals(List.of("first", "second", "second", "second", "second"), endedRuns(id, 5));
    described = eventually(() -> handle.describe().getInfo().getNumActions() == 5 ? handle.describe() : null);
    assertEquals(
        IntStream.rangeClosed(1, 4).mapToObj(hour -> year.plus(Duration.ofHours(hour))).toList(),
        described.getInfo().getRecentActions().stream().map(ScheduleActionResult::getScheduledAt).sorted().limit(4).toList());

    handle.delete();
    isNotFound(handle::describe);
    isNotFound(handle::trigger);
    isNotFound(handle::pause);
    isNotFound(handle::delete);
  }

  @Test
  void aScheduleActsByItselfUntilItsLimit() throws Exception {
    Schedule schedule =
        Schedule.newBuilder()
            .setAction(action("by itself"))
            .setSpec(ScheduleSpec.newBuilder().setIntervals(List.of(new ScheduleIntervalSpec(Duration.ofSeconds(1)))).build())
            .setState(ScheduleState.newBuilder().setLimitedAction(true).setRemainingActions(2).build())
            .build();
    ScheduleHandle handle = schedules.createSchedule(fresh("limited"), schedule, ScheduleOptions.newBuilder().build());
    assertEquals(List.of("by itself", "by itself"), endedRuns(handle.getId(), 2));
    List<ScheduleActionResult> recent = handle.describe().getInfo().getRecentActions();
    assertEquals(2, recent.size());
    for (ScheduleActionResult each : recent) {
      assertFalse(each.getStartedAt().isBefore(each.getScheduledAt()));
      String run = ((ScheduleActionExecutionStartWorkflow) each.getAction()).getWorkflowId();
      assertTrue(run.matches("by-schedule-.*-\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ"), run);
    }
    handle.delete();
  }

  @Test
  void createdWithABackfillAndATrigger() throws Exception {
    Instant day = Instant.parse("2021-05-01T00:00:00Z");
    ScheduleOverlapPolicy all = ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
    Schedule schedule =
        Schedule.newBuilder()
            .setAction(action("at once"))
            .setSpec(ScheduleSpec.newBuilder().setCronExpressions(List.of("0 12 * * *")).build())
            .setState(ScheduleState.newBuilder().setPaused(true).build())
            .build();
    ScheduleOptions options =
        ScheduleOptions.newBuilder()
            .setTriggerImmediately(true)
            .setBackfills(List.of(new ScheduleBackfill(day, day.plus(Duration.ofDays(3)), all)))
            .build();
    ScheduleHandle handle = schedules.createSchedule(fresh("at-once"), schedule, options);
    assertEquals(Collections.nCopies(4, "at once"), endedRuns(handle.getId(), 4));
    handle.delete();
  }

  // Restarts. They stop what the other tests use, so they come after them.

  @Test
  @Order(Integer.MAX_VALUE - 3)
  void anotherWorkerGoesOn() {
    WorkflowStub stub = start("Account", 1);
    stub.update("withdraw", Integer.class, 1);
    factory.shutdown();
    factory.awaitTermination(1, TimeUnit.MINUTES);
    stub.signal("deposit", 5);
    factory = startWorker();
    assertEquals("5 EUR", stub.query("balanceOf", String.class, "EUR"));
    stub.signal("close");
    assertEquals(List.of("withdraw 1", "deposit 5"), result(stub));
  }

  @Test
  @Order(Integer.MAX_VALUE - 2)
  void aServerThatWasKilledGoesOn() throws Exception {
    List<WorkflowStub> accounts = IntStream.range(0, 5).mapToObj(i -> start("Account", i)).toList();
    WorkflowStub timer = start("Timers", 1000);
    accounts.forEach(stub -> stub.signal("deposit", 10));
    server.kill();
    server.launch();
    for (int i = 0; i < accounts.size(); i++) {
      WorkflowStub stub = accounts.get(i);
      assertEquals(i + 10 + " EUR", stub.query("balanceOf", String.class, "EUR"));
      stub.signal("close");
      assertEquals(List.of("deposit 10"), result(stub));
    }
    assertEquals(List.of("first", "second", "timed out"), result(timer));
  }

  // Replay.

  @Test
  @Order(Integer.MAX_VALUE - 1)
  void everyHistoryFitsTheCodeThatWroteIt() {
    List<WorkflowExecutionMetadata> all;
    try (Stream<WorkflowExecutionMetadata> found = client.listExecutions("")) {
      all = found.toList();
    }
    Set<String> runs = all.stream().map(each -> each.getExecution().getRunId()).collect(Collectors.toSet());
    assertTrue(runs.containsAll(started));
    List<WorkflowExecutionHistory> histories = new ArrayList<>();
    for (WorkflowExecutionMetadata each : all) {
      WorkflowExecution run = each.getExecution();
      History.Builder history = history(run).toBuilder();
      int last = history.getEventsCount() - 1;
      for (int i = 0; i <= last; i++) assertEquals(i + 1, history.getEvents(i).getEventId());
      // The replayer of this SDK knows no terminated runs: it replays what they did until then.
      if (history.getEvents(last).hasWorkflowExecutionTerminatedEventAttributes()) history.removeEvents(last);
      histories.add(new WorkflowExecutionHistory(history.build(), run.getWorkflowId()));
    }
    ReplayResults results = assertReplay(histories);
    assertEquals(List.of(), results.allErrors().stream().map(each -> each.workflowId + ": " + each.exception).toList());
    System.out.printf("replayed %d histories, %d of them started by a client%n", histories.size(), started.size());
  }

  private static ReplayResults assertReplay(List<WorkflowExecutionHistory> histories) {
    try {
      return WorkflowReplayer.replayWorkflowExecutions(histories, false, Workflows.ALL);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void theReplayerWouldNotice() {
    WorkflowStub stub = start("Hello", "World", 0);
    stub.getResult(Activities.Greeting.class);
    History.Builder history = history(stub.getExecution()).toBuilder();
    for (HistoryEvent.Builder event : history.getEventsBuilderList()) {
      if (event.getEventType() == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        event.getActivityTaskScheduledEventAttributesBuilder().getActivityTypeBuilder().setName("Note");
    }
    assertTrue(assertReplay(List.of(new WorkflowExecutionHistory(history.build()))).hadAnyError());
  }
}
