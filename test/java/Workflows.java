import io.temporal.activity.ActivityCancellationType;
import io.temporal.activity.ActivityOptions;
import io.temporal.activity.LocalActivityOptions;
import io.temporal.api.enums.v1.ParentClosePolicy;
import io.temporal.common.RetryOptions;
import io.temporal.common.SearchAttributeKey;
import io.temporal.common.converter.EncodedValues;
import io.temporal.failure.ActivityFailure;
import io.temporal.failure.ApplicationFailure;
import io.temporal.failure.CanceledFailure;
import io.temporal.failure.ChildWorkflowFailure;
import io.temporal.failure.TemporalFailure;
import io.temporal.workflow.Async;
import io.temporal.workflow.CancellationScope;
import io.temporal.workflow.ChildWorkflowOptions;
import io.temporal.workflow.DynamicSignalHandler;
import io.temporal.workflow.Promise;
import io.temporal.workflow.QueryMethod;
import io.temporal.workflow.SignalMethod;
import io.temporal.workflow.UpdateMethod;
import io.temporal.workflow.UpdateValidatorMethod;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInit;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The workflows of TemporalTest. The replayer runs the same code against every history. */
final class Workflows {
  static final SearchAttributeKey<String> COLOR = SearchAttributeKey.forKeyword("JavaColor");
  static final SearchAttributeKey<Long> SIZE = SearchAttributeKey.forLong("JavaSize");

  static final Class<?>[] ALL = {
    HelloOwn.class, FailuresOwn.class, CountingOwn.class, LaterOwn.class, TimersOwn.class, AccountOwn.class,
    ChildOwn.class, ParentOwn.class, ChainOwn.class, CancelledOwn.class, ForeverOwn.class, AttributesOwn.class,
    LocalOwn.class, DeterministicOwn.class, ScheduledOwn.class,
  };

  private Workflows() {}

  private static RetryOptions quick() {
    return RetryOptions.newBuilder().setInitialInterval(Duration.ofMillis(50)).setBackoffCoefficient(1).build();
  }

  private static ActivityOptions.Builder minute() {
    return ActivityOptions.newBuilder().setStartToCloseTimeout(Duration.ofMinutes(1)).setRetryOptions(quick());
  }

  private static Activities activities(ActivityOptions options) {
    return Workflow.newActivityStub(Activities.class, options);
  }

  @WorkflowInterface
  public interface Hello {
    @WorkflowMethod(name = "Hello")
    Activities.Greeting run(String name, int fails);
  }

  public static final class HelloOwn implements Hello {
    @Override
    public Activities.Greeting run(String name, int fails) {
      return activities(minute().build()).greet(name, fails);
    }
  }

  @WorkflowInterface
  public interface Failures {
    @WorkflowMethod(name = "Failures")
    void run(String how);
  }

  public static final class FailuresOwn implements Failures {
    @Override
    public void run(String how) {
      RetryOptions.Builder retries = RetryOptions.newBuilder().setInitialInterval(Duration.ofMillis(20));
      switch (how) {
        case "activity" -> activities(minute().build()).refuse("no such order");
        case "exhausted" ->
            activities(minute().setRetryOptions(retries.setMaximumAttempts(3).build()).build()).greet("nobody", 9);
        case "timeout" ->
            activities(
                    minute()
                        .setStartToCloseTimeout(Duration.ofMillis(300))
                        .setRetryOptions(retries.setMaximumAttempts(1).build())
                        .build())
                .answerLater();
        default -> throw ApplicationFailure.newFailure("itself", "Own", 7);
      }
    }
  }

  @WorkflowInterface
  public interface Counting {
    @WorkflowMethod(name = "Counting")
    List<Integer> run(int limit);
  }

  public static final class CountingOwn implements Counting {
    @Override
    public List<Integer> run(int limit) {
      return activities(minute().setHeartbeatTimeout(Duration.ofSeconds(30)).build()).countUp(limit);
    }
  }

  @WorkflowInterface
  public interface Later {
    @WorkflowMethod(name = "Later")
    String run();
  }

  public static final class LaterOwn implements Later {
    @Override
    public String run() {
      return activities(minute().build()).answerLater();
    }
  }

  /** Three timers at once, one of which is cancelled, and a condition that nobody fulfils. */
  @WorkflowInterface
  public interface Timers {
    @WorkflowMethod(name = "Timers")
    List<String> run(int delayMs);
  }

  public static final class TimersOwn implements Timers {
    @Override
    public List<String> run(int delayMs) {
      List<String> order = new ArrayList<>();
      Duration delay = Duration.ofMillis(delayMs);
      CancellationScope hour = Workflow.newCancellationScope(() -> Workflow.newTimer(Duration.ofHours(1)));
      hour.run();
      Promise<Void> second = Workflow.newTimer(delay.multipliedBy(2)).thenApply(fired -> add(order, "second"));
      Promise<Void> first = Workflow.newTimer(delay).thenApply(fired -> add(order, "first"));
      Promise.allOf(first, second).get();
      hour.cancel();
      if (!Workflow.await(delay, () -> false)) order.add("timed out");
      return order;
    }

    private static Void add(List<String> order, String name) {
      order.add(name);
      return null;
    }
  }

  /** Signals, queries and updates, until it is closed. */
  @WorkflowInterface
  public interface Account {
    @WorkflowMethod(name = "Account")
    List<String> run(int opening);

    @SignalMethod
    void deposit(int amount);

    @SignalMethod
    void close();

    @QueryMethod
    String balanceOf(String currency);

    @QueryMethod
    String broken();

    @UpdateMethod
    int withdraw(int amount);

    @UpdateValidatorMethod(updateName = "withdraw")
    void checkWithdraw(int amount);

    @UpdateMethod
    void lose();

    @UpdateMethod
    int waitFor(int balance);
  }

  public static final class AccountOwn implements Account {
    private final List<String> log = new ArrayList<>();
    private int balance;
    private boolean isClosed;

    @WorkflowInit
    public AccountOwn(int opening) {
      balance = opening;
      DynamicSignalHandler other = (name, args) -> log.add(name + " " + sum(args));
      Workflow.registerListener(other);
    }

    private static int sum(EncodedValues args) {
      return args.get(0, Integer.class) + args.get(1, Integer.class);
    }

    @Override
    public List<String> run(int opening) {
      Workflow.await(() -> isClosed && Workflow.isEveryHandlerFinished());
      return log;
    }

    @Override
    public void deposit(int amount) {
      balance += amount;
      log.add("deposit " + amount);
    }

    @Override
    public void close() {
      isClosed = true;
    }

    @Override
    public String balanceOf(String currency) {
      return balance + " " + currency;
    }

    @Override
    public String broken() {
      throw new IllegalStateException("cannot say");
    }

    @Override
    public int withdraw(int amount) {
      activities(minute().build()).note("withdraw " + amount);
      balance -= amount;
      log.add("withdraw " + amount);
      return balance;
    }

    @Override
    public void checkWithdraw(int amount) {
      if (amount > balance) throw ApplicationFailure.newFailure("only " + balance + " there", "TooMuch");
    }

    @Override
    public void lose() {
      throw ApplicationFailure.newFailure("lost", "Lost");
    }

    @Override
    public int waitFor(int wanted) {
      Workflow.await(() -> balance >= wanted);
      return balance;
    }
  }

  @WorkflowInterface
  public interface Child {
    @WorkflowMethod(name = "Child")
    String run(String what);

    @SignalMethod
    void say(String word);
  }

  public static final class ChildOwn implements Child {
    private String word;

    @Override
    public String run(String what) {
      switch (what) {
        case "fail" -> throw ApplicationFailure.newFailure("the child fails", "ChildFailed");
        case "sleep" -> Workflow.sleep(Duration.ofHours(1));
        case "wait" -> {
          Workflow.await(() -> word != null);
          return Workflow.getInfo().getParentWorkflowId().orElse(null) + ": " + word;
        }
      }
      return "child " + what;
    }

    @Override
    public void say(String said) {
      word = said;
    }
  }

  @WorkflowInterface
  public interface Parent {
    @WorkflowMethod(name = "Parent")
    List<String> run(String how);
  }

  public static final class ParentOwn implements Parent {
    private static Child child(String name, ParentClosePolicy policy) {
      ChildWorkflowOptions.Builder options = ChildWorkflowOptions.newBuilder().setParentClosePolicy(policy);
      if (name != null) options.setWorkflowId(Workflow.getInfo().getWorkflowId() + "/" + name);
      return Workflow.newChildWorkflowStub(Child.class, options.build());
    }

    private static void begin(String name, ParentClosePolicy policy, String what) {
      Child child = child(name, policy);
      Async.function(child::run, what);
      Workflow.getWorkflowExecution(child).get();
    }

    @Override
    public List<String> run(String how) {
      List<String> results = new ArrayList<>();
      if (how.equals("abandon")) {
        begin("abandoned", ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON, "wait");
        begin("terminated", ParentClosePolicy.PARENT_CLOSE_POLICY_TERMINATE, "sleep");
        begin("cancelled", ParentClosePolicy.PARENT_CLOSE_POLICY_REQUEST_CANCEL, "sleep");
        return results;
      }
      ParentClosePolicy usual = ParentClosePolicy.PARENT_CLOSE_POLICY_TERMINATE;
      Child told = child("told", usual);
      Promise<String> answer = Async.function(told::run, "wait");
      Workflow.getWorkflowExecution(told).get();
      told.say("from inside");
      results.add(answer.get());
      List<Promise<String>> several = new ArrayList<>();
      for (int i = 0; i < 3; i++) several.add(Async.function(child(null, usual)::run, String.valueOf(i)));
      for (Promise<String> each : several) results.add(each.get());
      try {
        child(null, usual).run("fail");
      } catch (ChildWorkflowFailure e) {
        ApplicationFailure cause = (ApplicationFailure) e.getCause();
        results.add(cause.getType() + ": " + cause.getOriginalMessage());
      }
      Child sleeping = child("sleeping", usual);
      List<Promise<String>> slept = new ArrayList<>();
      CancellationScope scope = Workflow.newCancellationScope(() -> slept.add(Async.function(sleeping::run, "sleep")));
      scope.run();
      Workflow.getWorkflowExecution(sleeping).get();
      scope.cancel();
      try {
        slept.get(0).get();
      } catch (ChildWorkflowFailure e) {
        results.add(e.getCause().getClass().getSimpleName());
      } catch (CanceledFailure e) {
        results.add(e.getClass().getSimpleName());
      }
      return results;
    }
  }

  /** Continues as new until nothing is left. */
  @WorkflowInterface
  public interface Chain {
    @WorkflowMethod(name = "Chain")
    List<String> run(int left, List<String> runs);
  }

  public static final class ChainOwn implements Chain {
    @Override
    public List<String> run(int left, List<String> runs) {
      runs.add(Workflow.getInfo().getRunId());
      if (left > 0) Workflow.continueAsNew(left - 1, runs);
      return runs;
    }
  }

  /** Hangs in an activity, and when it is cancelled cleans up with another one. */
  @WorkflowInterface
  public interface Cancelled {
    @WorkflowMethod(name = "Cancelled")
    String run();
  }

  public static final class CancelledOwn implements Cancelled {
    @Override
    public String run() {
      ActivityOptions options =
          minute()
              .setStartToCloseTimeout(Duration.ofMinutes(10))
              .setHeartbeatTimeout(Duration.ofSeconds(30))
              .setCancellationType(ActivityCancellationType.WAIT_CANCELLATION_COMPLETED)
              .build();
      try {
        return activities(options).hang();
      } catch (ActivityFailure e) {
        if (e.getCause() instanceof CanceledFailure)
          Workflow.newDetachedCancellationScope(() -> activities(minute().build()).note("cleaned up")).run();
        throw e;
      }
    }
  }

  @WorkflowInterface
  public interface Forever {
    @WorkflowMethod(name = "Forever")
    void run();
  }

  public static final class ForeverOwn implements Forever {
    @Override
    public void run() {
      Workflow.await(() -> false);
    }
  }

  /** Changes what it was started with. */
  @WorkflowInterface
  public interface Attributes {
    @WorkflowMethod(name = "Attributes")
    List<String> run();

    @SignalMethod
    void close();
  }

  public static final class AttributesOwn implements Attributes {
    private boolean isClosed;

    @Override
    public List<String> run() {
      List<String> seen = new ArrayList<>();
      seen.add(Workflow.getTypedSearchAttributes().get(COLOR) + " " + Workflow.getTypedSearchAttributes().get(SIZE));
      seen.add(Workflow.getMemo("kept", String.class) + ", " + Workflow.getMemo("changed", String.class));
      long size = Workflow.getTypedSearchAttributes().get(SIZE);
      Workflow.upsertTypedSearchAttributes(COLOR.valueSet("blue"), SIZE.valueSet(size + 1));
      Map<String, Object> memo = new HashMap<>();
      memo.put("changed", "after");
      memo.put("dropped", null);
      Workflow.upsertMemo(memo);
      Workflow.await(() -> isClosed);
      seen.add(Workflow.getMemo("changed", String.class) + ", " + Workflow.getMemo("dropped", String.class));
      return seen;
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }

  /** Local activities: one that is retried, several at once, one that fails. */
  @WorkflowInterface
  public interface Local {
    @WorkflowMethod(name = "Local")
    List<String> run();
  }

  public static final class LocalOwn implements Local {
    @Override
    public List<String> run() {
      Activities local =
          Workflow.newLocalActivityStub(
              Activities.class,
              LocalActivityOptions.newBuilder()
                  .setStartToCloseTimeout(Duration.ofMinutes(1))
                  .setRetryOptions(RetryOptions.newBuilder(quick()).setMaximumAttempts(5).build())
                  .build());
      Activities.Greeting first = local.greet("Local", 2);
      List<String> results = new ArrayList<>(List.of(first.text(), String.valueOf(first.attempt())));
      List<Promise<String>> several = new ArrayList<>();
      for (int i = 0; i < 3; i++) several.add(Async.function(local::note, String.valueOf(i)));
      for (Promise<String> each : several) results.add(each.get());
      try {
        local.refuse("locally");
      } catch (ActivityFailure e) {
        results.add(((TemporalFailure) e.getCause()).getOriginalMessage());
      }
      return results;
    }
  }

  /** What must be the same in a replay: time, random numbers, ids, side effects, versions. */
  @WorkflowInterface
  public interface Deterministic {
    @WorkflowMethod(name = "Deterministic")
    List<String> run();
  }

  public static final class DeterministicOwn implements Deterministic {
    @Override
    public List<String> run() {
      long before = Workflow.currentTimeMillis();
      int effect = Workflow.sideEffect(Integer.class, () -> (int) (Math.random() * 1000));
      int mutable = Workflow.mutableSideEffect("limit", Integer.class, (a, b) -> !a.equals(b), () -> 7);
      Workflow.sleep(10);
      if (Workflow.getVersion("better", Workflow.DEFAULT_VERSION, 1) == 1) activities(minute().build()).note("better");
      boolean isLater = Workflow.currentTimeMillis() > before;
      return Arrays.asList(
          String.valueOf(Workflow.newRandom().nextInt()), Workflow.randomUUID().toString(), effect < 1000 ? "drawn" : "",
          String.valueOf(mutable), String.valueOf(isLater));
    }
  }

  @WorkflowInterface
  public interface Scheduled {
    @WorkflowMethod(name = "Scheduled")
    List<String> run(String word);
  }

  public static final class ScheduledOwn implements Scheduled {
    @Override
    public List<String> run(String word) {
      String by = Workflow.getTypedSearchAttributes().get(SearchAttributeKey.forKeyword("TemporalScheduledById"));
      return List.of(word, by);
    }
  }
}
