using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Pauses, one after another, starve nobody.</summary>
public sealed class PauseTests
{
    [Fact]
    public void Who_has_waited_for_a_pause_has_a_turn_before_the_next_one()
    {
        using var test = new TestStore();
        int turns = 0;
        for (int round = 1; round <= 50; round++)
        {
            test.Begin();
            Assert.True(test.Session.TryPauseOthers());
            bool began = false;
            var thread = new Thread(() =>
            {
                using var other = test.Store.CreateSession();
                Volatile.Write(ref began, true);
                other.BeginTurn();      // waits
                turns++;
                other.GoOffline();
            });
            thread.Start();
            Eventually.Holds(() => Volatile.Read(ref began) && (thread.ThreadState & ThreadState.WaitSleepJoin) != 0,
                () => "it does not wait");
            test.Session.EndPause();
            // Ends: the other one goes on.
            do test.Begin();
            while (!test.Session.TryPauseOthers());
            Assert.Equal(round, Volatile.Read(ref turns));
            test.Session.EndPause();
            thread.Join();
        }
    }

    [Fact]
    public void A_pause_that_another_session_takes_over_counts_from_its_beginning()
    {
        using var test = new TestStore();
        using var other = test.Store.CreateSession();
        long begin = TimeProvider.System.GetTimestamp();
        Assert.True(test.Session.TryPauseOthers());
        other.BeginInnerTurn();
        other.TakePause(test.Session);
        other.EndPause();
        Assert.InRange(other.Presence.PausedTicks, 1, TimeProvider.System.GetTimestamp() - begin);
        Assert.Equal(0, test.Session.Presence.PausedTicks);
        other.GoOffline();
        test.Begin();
        Assert.True(test.Session.TryPauseOthers());
        test.Session.EndPause();
    }

    [Fact]
    public void Others_stand_still_for_a_session_for_long_once_in_a_turn()
    {
        using var test = new TestStore();
        test.Begin();
        Assert.True(test.Session.TryPauseOthers());
        Thread.Sleep(2);
        test.Session.EndPause();
        Assert.False(test.Session.TryPauseOthers());
        test.Begin();
        Assert.True(test.Session.TryPauseOthers());
        test.Session.EndPause();
    }
}
