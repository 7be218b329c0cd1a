using Kv.Tests.Harness;
using Xunit.Sdk;
using Xunit.v3;

[assembly: TestCollectionOrderer(typeof(LongestFirst))]

namespace Kv.Tests.Harness;

/// <summary>The classes that take longest begin first: the tests of one run one after the other, and of a class that
/// began last the others' processors would wait for the end.</summary>
public sealed class LongestFirst : ITestCollectionOrderer
{
    private static readonly string[] Longest =
    [
        .. new[]
        {
            typeof(Limits.WhatClientsKeepTests), typeof(Commands.LongStepTests), typeof(Eviction.EvictionServerTests),
            typeof(Packaging.ContainerTests), typeof(Packaging.PackageTests), typeof(Clients.PackageIndexTests),
            typeof(Eviction.HitRatioTests), typeof(Diagnostics.MonitorTests), typeof(Diagnostics.SlowCommandTests),
            typeof(Configuration.HonouredOptionTests), typeof(Network.UnreadHoldTests),
            typeof(Clients.ScriptClientTests),
            typeof(Commands.LongCommandInExecTests), typeof(Persistence.BackgroundSnapshotTests),
            typeof(Persistence.LargeSnapshotTests), typeof(Persistence.Aof.AppendOnlyTests),
            typeof(Effects.FullSyncTests), typeof(Effects.FeedSinkTests),
        }.Select(one => one.FullName!),
    ];

    public IReadOnlyCollection<TTestCollection> OrderTestCollections<TTestCollection>(
        IReadOnlyCollection<TTestCollection> testCollections) where TTestCollection : ITestCollection =>
        [.. DefaultTestCollectionOrderer.Instance.OrderTestCollections(testCollections).OrderBy(Rank)];

    // "Test collection for Kv.Tests.Commands.LongStepTests (id: 0123)": each class is its own.
    private static int Rank<TTestCollection>(TTestCollection collection) where TTestCollection : ITestCollection
    {
        int at = Array.FindIndex(Longest, name =>
            collection.TestCollectionDisplayName.Contains($" {name} ", StringComparison.Ordinal));
        return at < 0 ? Longest.Length : at;
    }
}
