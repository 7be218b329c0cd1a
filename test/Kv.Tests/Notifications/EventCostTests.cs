using Kv.Server.Notifications;
using Kv.Tests.Harness;

namespace Kv.Tests.Notifications;

/// <summary>What commands are asked for on account of the events that somebody wants.</summary>
public sealed class EventCostTests
{
    [Theory]
    [InlineData("", "None", false)]
    [InlineData("KEd", "None", false)]
    [InlineData("Ex", "Ends", false)]
    [InlineData("KEe", "Ends", false)]
    [InlineData("KEm", "Misses", true)]
    [InlineData("Kn", "Changes", true)]
    [InlineData("Kxeg", "Changes, Ends", true)]
    public void Commands_say_what_they_do_only_to_who_asks_for_it(string letters, string heard, bool isAsked)
    {
        using var kv = KvInstance.Start("--notify-keyspace-events", letters);
        var watches = kv.Server.Store.Watches;
        Assert.Equal(heard, watches.Heard.ToString());
        Assert.Equal(heard.StartsWith("Changes", StringComparison.Ordinal), watches.IsAny);
        Assert.Equal(isAsked, new CommandEvents(kv.Server.Events).IsAsked);
    }
}
