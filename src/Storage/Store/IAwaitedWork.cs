namespace Kv.Storage;

/// <summary>Work in steps that keeps a command from a key, or from a place for work of its own: the command need not be
/// tried before that is over.</summary>
/// <remarks>Threads: any.</remarks>
internal interface IAwaitedWork
{
    /// <summary>Whether it keeps nobody waiting any more: a step late at worst.</summary>
    bool IsOver { get; }

    /// <summary>Whether it has run for so long that some commands do not wait for it.</summary>
    bool TakesLong { get; }

    /// <summary>Does a piece of it, unless another thread does.</summary>
    /// <param name="caller">As in <see cref="IHeldSteps.Step"/>.</param>
    /// <returns>True when everything is done.</returns>
    bool Step(StoreSession? caller = null);
}
