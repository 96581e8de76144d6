import io.temporal.activity.Activity;
import io.temporal.activity.ActivityExecutionContext;
import io.temporal.activity.ActivityInterface;
import io.temporal.client.ActivityCanceledException;
import io.temporal.failure.ApplicationFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The activities of TemporalTest. */
@ActivityInterface
public interface Activities {
  record Greeting(String text, int attempt) {}

  /** Succeeds when it has failed as often as it should. */
  Greeting greet(String name, int fails);

  void refuse(String reason);

  /** Counts in heartbeats; the first attempt ends in the middle, and the next goes on from there. */
  List<Integer> countUp(int limit);

  /** Beats until it is told to stop. */
  String hang();

  /** Is completed by someone else. */
  String answerLater();

  String note(String text);

  final class Own implements Activities {
    private static int attempt() {
      return Activity.getExecutionContext().getInfo().getAttempt();
    }

    @Override
    public Greeting greet(String name, int fails) {
      if (attempt() <= fails)
        throw ApplicationFailure.newFailure("attempt " + attempt() + " fails", "NotYet", attempt());
      return new Greeting("Hello, " + name + "!", attempt());
    }

    @Override
    public void refuse(String reason) {
      throw ApplicationFailure.newNonRetryableFailure(reason, "Refused", Map.of("why", reason));
    }

    @Override
    public List<Integer> countUp(int limit) {
      ActivityExecutionContext context = Activity.getExecutionContext();
      List<Integer> seen = new ArrayList<>();
      for (int n = context.getHeartbeatDetails(Integer.class).orElse(0) + 1; n <= limit; n++) {
        seen.add(n);
        context.heartbeat(n);
        if (attempt() == 1 && n == limit / 2) throw ApplicationFailure.newFailure("in the middle", "Middle");
      }
      return seen;
    }

    @Override
    public String hang() {
      try {
        while (true) {
          Activity.getExecutionContext().heartbeat(null);
          Thread.sleep(50);
        }
      } catch (ActivityCanceledException e) {
        throw e;
      } catch (InterruptedException e) {
        throw Activity.wrap(e);
      }
    }

    @Override
    public String answerLater() {
      Activity.getExecutionContext().doNotCompleteOnReturn();
      return null;
    }

    @Override
    public String note(String text) {
      return "noted: " + text;
    }
  }
}
