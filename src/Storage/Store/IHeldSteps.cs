namespace Kv.Storage;

/// <summary>Work with keys that are held from its first step to its last, whoever does them.</summary>
internal interface IHeldSteps : IDisposable
{
    /// <summary>Whether nothing is left to do. From any thread: a step late at worst.</summary>
    bool IsDone { get; }

    /// <summary>What the work threw, whoever ran it; the keys were let go of.</summary>
    Exception? Failure { get; }

    /// <summary>Does a piece of the work, unless another thread is doing all of it.</summary>
    /// <param name="caller">In its turn: it serves those who wait for what was changed, as it would after a turn of its
    /// own. Null: others do.</param>
    /// <returns>True when everything is done.</returns>
    bool Step(StoreSession? caller = null);
}
